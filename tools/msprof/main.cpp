// msprof: profiles a program, and makes tables of profiles. It links nothing of the runtime.
#include "observe/profiling/export/command.h"

int main(int argc, char** argv) { return updraft::profiling::msprof(argc, argv); }
