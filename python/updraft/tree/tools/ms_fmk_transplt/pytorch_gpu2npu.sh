#!/bin/sh
# The guide's name for `updraft migrate`: same options, same reports.
exec "$(dirname "$(readlink -f "$0")")/../../bin/updraft-migrate" gpu2npu "$@"
