// What a task that fails was called with, as a text for its message.
#pragma once
#include <span>
#include <string>

#include "device/argument.h"
#include "device/task.h"

namespace updraft {

/// Who makes the text (src/observe/dump/failure_text.cpp); null: there is none.
using FailureText = std::string (*)(std::span<const Argument>);
void set_failure_text(FailureText make);

/// A text for behind the message, "" where nobody knows the task's arguments. Reads the inputs' data, so in the thread
/// that ran it, before its stream goes on.
std::string failure_summary(const Task& task) noexcept;

/// True in a thread that makes such a text: then tasks may give arguments that they keep for it alone.
bool summarising_failure();

/// In a catch clause: throws what was thrown, with the summary behind the text of an Error.
[[noreturn]] void rethrow_with_summary(const Task& task);

}  // namespace updraft
