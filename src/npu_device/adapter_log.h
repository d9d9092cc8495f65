// The adapter's own lines on the standard error stream, in the form of TensorFlow's.
#pragma once
#include <string>

namespace updraft::npu_device {

/// TF_CPP_MIN_LOG_LEVEL silences TensorFlow's lines and ours.
bool silent();
/// True for 1 and true of a variable that is read once, before anything runs (NPU_DEBUG …).
bool switched_on(const char* variable);
/// A line, with the file and the line of it that a real adapter names. `always`: somebody asked for it by a variable of
/// its own.
void say(const char* file, int line, const std::string& text, bool always = false);

}  // namespace updraft::npu_device
