#!/bin/sh
# The guide's name for `updraft analyse`: same options, same reports.
exec "$(dirname "$(readlink -f "$0")")/../../bin/updraft-migrate" pytorch-analyse "$@"
