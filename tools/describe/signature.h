// The parameters of an operator, from the list that ACLNN keeps.
#pragma once
#include <string>
#include <vector>

struct Parameter {
  std::string type, name;
  bool optional() const { return type.rfind("Opt", 0) == 0; }
  bool read() const { return !outputs() || updated(); }
  bool written() const { return outputs() || updated(); }

 private:
  bool updated() const {
    return type.find("InOut") != std::string::npos || (name.size() > 3 && name.rfind("Ref") == name.size() - 3);
  }
  bool outputs() const { return type.find("Out") != std::string::npos; }
};

/// "(In, self), (Scalar, alpha)" as ACLNN keeps it.
std::vector<Parameter> parse(const char* signature);
/// "activation/glu.cpp" of the operator's source file.
std::string file_in_ops(const char* path);
