# shellcheck shell=sh
# Updraft's tree for shells and C++ programs:  . set_env.sh   (bash, zsh; a plain sh needs UPDRAFT_CANN_HOME first)
if [ -n "${BASH_SOURCE:-}" ]; then
  _updraft_home=$(cd "$(dirname "${BASH_SOURCE}")" && pwd)
elif [ -n "${ZSH_VERSION:-}" ]; then
  _updraft_home=$(cd "$(dirname "$(eval 'printf %s "${(%):-%x}"')")" && pwd)
else
  _updraft_home=${UPDRAFT_CANN_HOME:?set UPDRAFT_CANN_HOME to the folder of set_env.sh}
fi
export UPDRAFT_CANN_HOME="$_updraft_home"
export ASCEND_HOME_PATH="$_updraft_home"
export ASCEND_TOOLKIT_HOME="$_updraft_home"
export ASCEND_OPP_PATH="$_updraft_home/opp"
export ASCEND_AICPU_PATH="$_updraft_home"
# torch_npu takes the first msprof, and wants it to lie in a folder named tools
case ":${PATH:-}:" in *":$_updraft_home/bin:"*) ;; *)
  export PATH="$_updraft_home/tools/profiler/bin:$_updraft_home/bin${PATH:+:$PATH}" ;;
esac
case ":${LD_LIBRARY_PATH:-}:" in *":$_updraft_home/lib64:"*) ;; *)
  export LD_LIBRARY_PATH="$_updraft_home/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
esac
case ":${PYTHONPATH:-}:" in *":$_updraft_home/python/site-packages:"*) ;; *)
  export PYTHONPATH="$_updraft_home/python/site-packages${PYTHONPATH:+:$PYTHONPATH}" ;;
esac
unset _updraft_home
