"""`updraft run --report FILE CMD`: what a card would say of this run.

inside.py    in each process of the run: what torch_npu computes on the host
collect.py   what the processes left, as one
findings.py  what follows from it: each a function of the record
page.py      the findings as one HTML file that needs no network, and as JSON
command.py   runs the command and writes both
"""
