// The command lines of the original tools, as their users have them in scripts.
#pragma once
#include "arguments.h"

namespace updraft::migrate {

/// pytorch_gpu2npu.sh -i DIR -o DIR -v VERSION [-r FILE] [-s] [-sim] [-a MODEL] [-m] [distributed -t MODEL -m MAIN]
bool parse_gpu2npu(int argc, char** argv, Arguments& arguments, int& status);

/// pytorch_analyse.sh -i DIR -o DIR -v VERSION [-m torch_apis|third_party|affinity_apis|dynamic_shape]
bool parse_pytorch_analyse(int argc, char** argv, Arguments& arguments, int& status);

/// convert_tf2npu: main.py -i DIR [-o DIR] [-r DIR] [-m FILE] [-d tf_strategy|horovod] [-c]
bool parse_tf2npu(int argc, char** argv, Arguments& arguments, int& status);

}  // namespace updraft::migrate
