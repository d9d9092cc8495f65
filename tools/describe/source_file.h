// Where an operator's source lies.
#pragma once
#include <string>

/// "activation/glu.cpp" of the path that the compiler was given.
std::string file_in_ops(const char* path);
