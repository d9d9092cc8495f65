"""Of all areas: tests that send Ctrl-C to a program want it to be heard. A shell that runs them in the background has it ignored, which
programs inherit."""
import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
