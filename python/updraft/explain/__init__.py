"""`updraft explain CODE…` and `updraft explain FILE`: what an error code of CANN means, and what a log or the output of a run says.

codes.py    the codes: name, meaning, what to do
modules.py  the modules that write logs, and what their errors are about
reading.py  finds codes and lines of the log in a text
command.py  prints it
"""
