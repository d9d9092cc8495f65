"""Settings; edit them in the copy beside the training script."""

# Folder below which atc and msaccucmp.py are looked for. Where it has none: below ASCEND_HOME_PATH and around this file.
CMD_ROOT_PATH = '/usr/local/Ascend'

# Steps that are dumped: '0', '0|5|10', '0|3-5'; '' is every step.
TF_DUMP_STEP = '0'

# Graphs that are written with a dump: DUMP_GE_GRAPH and DUMP_GRAPH_LEVEL, and the stage that is read.
DUMP_GE_GRAPH_VALUE = 2
DUMP_GRAPH_LEVEL_VALUE = 3
BUILD_JSON_GRAPH_NAME = 'Build'
OP_DEBUG_LEVEL = 4

# Folder in which precision_data lies; '' is the working folder.
ROOT_DIR = ''

# Lines that are told: NOTSET (all), INFO, WARNING, ERROR.
LOG_LEVEL = "NOTSET"

# Seconds that a run with tfdbg may take.
TF_DEBUG_TIMEOUT = 360
