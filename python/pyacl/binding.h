// One table of functions. A row names a C function and its parameters; the Python function follows from the C type:
//   inputs                the parameters that C reads, in C's order
//   results               what C writes through pointers, then the code; the bare code or value where it is alone
//   void f(…)             None
// Where C has a pair of count and array, or fills in a buffer, the row has a function of ours in front (AS), whose
// parameters are as Python wants them: List, Maybe, Any, Callable (convert.h).
#pragma once
#include <unistd.h>

#include <array>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "convert.h"

namespace pyacl {

struct Row {
  const char* name;        ///< "malloc"
  const char* c_name;      ///< "aclrtMalloc", "" for what is Python's own
  const char* parameters;  ///< "size, policy -> dev_ptr": the inputs, the results before the code
  bool waits;              ///< other Python threads run meanwhile
  PyObject* (*call)(PyObject*, PyObject* const*, Py_ssize_t);
  void (*attach)(const struct Function*);
  std::vector<std::string> (*inputs)();   ///< types
  std::vector<std::string> (*results)();  ///< types, with that of a value that the C function returns first
  bool code;                              ///< an error code comes last
  size_t optional;                        ///< inputs that may be left out at the end
};

/// A row in its module, with the names taken apart.
struct Function {
  const Row* row;
  std::string module;  ///< "acl.rt"
  std::vector<std::string> inputs, results;
  std::string doc;
};

struct Table {
  const char* module;  ///< "rt", "" for acl itself
  std::span<const Row> rows;
};
// One a file.
extern const Table kTop, kTensors, kDevices, kStreams, kMemory, kCallbacks, kModels, kAipp, kOperators, kUtil,
    kProfiling, kQueues, kMedia, kBlas;

/// Whether Python ends and this is not the thread that ends it. Python would unwind such a daemon thread when it comes
/// back, through frames of C++ that must not be unwound.
bool left_behind();

/// Lets other Python threads run while the scope lasts.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() noexcept(false) {
    while (left_behind()) pause();  // the process ends soon
    PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// False, with TypeError set, when the number of arguments is wrong.
bool check_count(const Function& function, Py_ssize_t given);
Given argument(const Function& function, size_t index, PyObject* object);
PyObject* results_of(std::vector<Object>& results);

template <class P>
using Slot = std::remove_cvref_t<
    typename std::conditional_t<is_output<P>(), std::remove_pointer<P>, std::type_identity<P>>::type>;

template <class P>
decltype(auto) pass(Slot<P>& slot) {
  if constexpr (is_output<P>()) return &slot;
  else return (slot);
}

template <auto F, bool kWaits, class = decltype(F)>
struct Binding;

template <auto F, bool kWaits, class R, class... P>
struct Binding<F, kWaits, R (*)(P...)> {
  static constexpr bool kCode = std::is_same_v<R, aclError>;
  static constexpr size_t kInputs = (size_t{!is_output<P>()} + ... + 0);
  static constexpr size_t kResults = (size_t{is_output<P>()} + ... + 0);
  static constexpr size_t kOptional = (size_t{kIsMaybe<Slot<P>>} + ... + 0);
  static inline const Function* self = nullptr;

  template <size_t I, class Slots>
  static bool read_one(Slots& slots, PyObject* const* given, Py_ssize_t count, size_t& next) {
    using Parameter = std::tuple_element_t<I, std::tuple<P...>>;
    if constexpr (is_output<Parameter>()) {
      return true;
    } else {
      const size_t index = next++;
      if (static_cast<Py_ssize_t>(index) >= count) return true;  // may be left out: check_count
      return read(argument(*self, index, given[index]), std::get<I>(slots));
    }
  }

  template <size_t... I>
  static PyObject* run(std::index_sequence<I...>, [[maybe_unused]] PyObject* const* given,
                       [[maybe_unused]] Py_ssize_t count) {
    std::tuple<Slot<P>...> slots{};
    [[maybe_unused]] size_t next = 0;
    if (!(read_one<I>(slots, given, count, next) && ... && true)) return nullptr;
    std::vector<Object> results;
    results.reserve(kResults + 1);
    auto invoke = [&]() -> R {
      if constexpr (kWaits) {
        const Unlocked unlocked;
        return F(pass<P>(std::get<I>(slots))...);
      } else {
        return F(pass<P>(std::get<I>(slots))...);
      }
    };
    auto add_outputs = [&] {
      (
          [&] {
            if constexpr (is_output<P>()) results.emplace_back(to_python(std::get<I>(slots)));
          }(),
          ...);
    };
    if constexpr (std::is_void_v<R>) {
      invoke();
      add_outputs();
    } else {
      R value = invoke();
      if (PyErr_Occurred()) return nullptr;  // a function of ours has refused: with an exception, not with a code
      if constexpr (!kCode) results.emplace_back(to_python(value));
      add_outputs();
      if constexpr (kCode) results.emplace_back(to_python(value));
    }
    return results_of(results);
  }

  static PyObject* call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    if (!check_count(*self, count)) return nullptr;
    return run(std::index_sequence_for<P...>(), given, count);
  }

  static std::vector<std::string> input_types() {
    std::vector<std::string> names;
    (
        [&] {
          if constexpr (!is_output<P>()) names.push_back(type_name<Slot<P>>());
        }(),
        ...);
    return names;
  }
  static std::vector<std::string> result_types() {
    std::vector<std::string> names;
    if constexpr (!std::is_void_v<R> && !kCode)
      names.push_back(std::is_same_v<R, const char*> ? "str | None" : type_name<R>());
    (
        [&] {
          if constexpr (is_output<P>()) names.push_back(type_name<Slot<P>>());
        }(),
        ...);
    return names;
  }
};

/// Names in a list: commas and one, none in an empty text.
consteval size_t names_in(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text.empty()) return 0;
  size_t count = 1;
  for (char c : text) count += c == ',';
  return count;
}

template <auto F, bool kWaits>
consteval Row row(const char* name, const char* c_name, const char* parameters) {
  using B = Binding<F, kWaits>;
  const std::string_view text = parameters;
  const size_t arrow = text.find("->");
  const size_t inputs = names_in(text.substr(0, arrow));
  const size_t results = arrow == text.npos ? 0 : names_in(text.substr(arrow + 2));
  constexpr size_t value = B::kCode ? 0 : 1;  // a returned value may have a name
  if (inputs != B::kInputs) throw "the row names another number of inputs than the function has";
  if (results != B::kResults && results != B::kResults + value) throw "the row names another number of results";
  return {name,
          c_name,
          parameters,
          kWaits,
          &B::call,
          [](const Function* f) { B::self = f; },
          &B::input_types,
          &B::result_types,
          B::kCode,
          B::kOptional};
}

// CALL for what answers at once, WAIT for what may take its time.
#define CALL(name, function, parameters) ::pyacl::row<&function, false>(name, #function, parameters)
#define WAIT(name, function, parameters) ::pyacl::row<&function, true>(name, #function, parameters)
#define CALL_AS(name, c_function, function, parameters) ::pyacl::row<&function, false>(name, c_function, parameters)
#define WAIT_AS(name, c_function, function, parameters) ::pyacl::row<&function, true>(name, c_function, parameters)

}  // namespace pyacl
