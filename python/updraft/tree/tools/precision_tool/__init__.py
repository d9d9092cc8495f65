"""precision_tool: looks for the operator that makes a training go wrong, in the dumps and graphs of a run.

Copy this folder beside the training script. The script asks for a dump by tf_config.py; then
`python3 precision_tool/cli.py` looks at what lies in precision_data/. numpy is all it needs.
"""
