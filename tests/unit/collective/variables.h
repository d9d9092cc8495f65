// An environment without the variables of collective communication, as long as a test lasts.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace updraft {

class Variables {
 public:
  Variables() {
    for (char** entry = environ; *entry; ++entry) {
      const std::string text = *entry;
      const size_t equal = text.find('=');
      const std::string name = text.substr(0, equal);
      for (const char* start : {"HCCL_", "UPDRAFT_HCCL_", "RANK_", "CM_", "DEVICE_ID", "ASCEND_DEVICE_ID"})
        if (name.starts_with(start)) saved_[name] = text.substr(equal + 1);
    }
    for (const auto& [name, value] : saved_) unsetenv(name.c_str());
  }
  ~Variables() {
    clear();
    for (const auto& [name, value] : saved_) setenv(name.c_str(), value.c_str(), 1);
  }
  Variables(const Variables&) = delete;
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  void clear() {
    for (const std::string& name : names_) unsetenv(name.c_str());
    names_.clear();
  }

 private:
  std::map<std::string, std::string> saved_;
  std::vector<std::string> names_;
};

/// That `call` throws an Error of this code whose text has all of `parts`.
template <class Call>
void expect_error(int code, const std::vector<std::string>& parts, Call call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.text();
    for (const std::string& part : parts)
      EXPECT_NE(e.text().find(part), std::string::npos) << part << " in: " << e.text();
    return;
  }
  ADD_FAILURE() << "no error, wanted " << (parts.empty() ? "one" : parts.back());
}

}  // namespace updraft
