// pyACL: the Python module acl over AscendCL's C interface. acl/__init__.py takes everything from here.
#include <pthread.h>

#include <atomic>
#include <memory>

#include "binding.h"

namespace pyacl {
namespace {

const Table* const kTables[] = {&kTop,  &kTensors,   &kDevices, &kStreams,   &kMemory, &kCallbacks, &kModels,
                                &kAipp, &kOperators, &kUtil,    &kProfiling, &kQueues, &kMedia,     &kBlas};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : text) {
    if (c == ',') names.push_back(std::exchange(name, {}));
    else if (c != ' ') name += c;
  }
  if (!name.empty()) names.push_back(name);
  return names;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// They live as long as the process, as the functions do.
std::vector<std::unique_ptr<Function>>& functions() {
  static auto* all = new std::vector<std::unique_ptr<Function>>;
  return *all;
}

Function& add(const Table& table, const Row& row) {
  auto made = std::make_unique<Function>();
  made->row = &row;
  made->module = *table.module ? std::string("acl.") + table.module : "acl";
  const std::string_view names = row.parameters;
  const size_t arrow = names.find("->");
  made->inputs = split(names.substr(0, arrow));
  if (arrow != names.npos) made->results = split(names.substr(arrow + 2));
  if (made->results.size() < row.results().size()) made->results.insert(made->results.begin(), "value");
  if (row.code) made->results.push_back("ret");
  std::vector<std::string> inputs = made->inputs, results = made->results;
  for (size_t i = inputs.size() - row.optional; i < inputs.size(); ++i) inputs[i] += "=None";
  if (!inputs.empty()) inputs.push_back("/");
  made->doc = std::string(row.name) + "(" + joined(inputs) + ")\n--\n\n";
  made->doc += results.empty() ? "Gives None." : "Gives " + joined(results) + ".";
  if (*row.c_name) made->doc += std::string(" C: ") + row.c_name;
  row.attach(made.get());
  functions().push_back(std::move(made));
  return *functions().back();
}

/// The functions of one Python module, in the order of the tables.
PyMethodDef* methods(const char* module) {
  auto* all = new std::vector<PyMethodDef>;
  for (const Table* table : kTables)
    if (std::string_view(table->module) == module)
      for (const Row& row : table->rows)
        all->push_back({row.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(row.call)), METH_FASTCALL,
                        add(*table, row).doc.c_str()});
  all->push_back({nullptr, nullptr, 0, nullptr});
  return all->data();
}

bool append(const Object& list, PyObject* item) {
  const Object owned(item);
  return owned && PyList_Append(list.get(), owned.get()) == 0;
}
PyObject* texts(const std::vector<std::string>& all) {
  List<const char*> list;
  for (const std::string& text : all) list.values.push_back(text.c_str());
  return to_python(list);
}

/// What the stubs and the table of functions are written from (describe.py).
PyObject* describe(PyObject*, PyObject*) {
  Object list(PyList_New(0));
  for (const auto& f : functions()) {
    std::vector<std::string> result_types = f->row->results();
    if (f->row->code) result_types.emplace_back("int");
    const bool good =
        list && append(list, Py_BuildValue("{s:s,s:s,s:s,s:N,s:N,s:N,s:N,s:n,s:O}", "module", f->module.c_str(), "name",
                                           f->row->name, "c_name", f->row->c_name, "inputs", texts(f->inputs), "types",
                                           texts(f->row->inputs()), "results", texts(f->results), "result_types",
                                           texts(result_types), "optional", static_cast<Py_ssize_t>(f->row->optional),
                                           "waits", f->row->waits ? Py_True : Py_False));
    if (!good) return nullptr;
  }
  return list.release();
}
PyMethodDef kDescribe[] = {{"_describe", describe, METH_NOARGS, "The table of functions."},
                           {nullptr, nullptr, 0, nullptr}};

std::atomic<pthread_t> g_ending{};

PyObject* end(PyObject*, PyObject*) {
  g_ending = pthread_self();
  return Py_NewRef(Py_None);
}
PyMethodDef kEnd = {"_end", end, METH_NOARGS, "Called when Python ends."};

int at_exit() {
  const Object atexit(PyImport_ImportModule("atexit")), function(PyCFunction_New(&kEnd, nullptr));
  const Object done(atexit && function ? PyObject_CallMethod(atexit.get(), "register", "O", function.get()) : nullptr);
  return done ? 0 : -1;
}

int fill(PyObject* top) {
  static bool filled = false;
  if (filled) {
    PyErr_SetString(PyExc_ImportError, "acl has one instance a process: import it in the main interpreter");
    return -1;
  }
  filled = true;
  if (at_exit()) return -1;
  if (PyModule_AddFunctions(top, methods("")) || PyModule_AddFunctions(top, kDescribe)) return -1;
  for (const char* name : {"rt", "mdl", "op", "util", "prof", "tdt", "media", "blas"}) {
    const std::string full = std::string("acl.") + name;
    const Object module(PyModule_New(full.c_str()));
    if (!module || PyModule_AddFunctions(module.get(), methods(name))) return -1;
    if (PyObject_SetAttrString(top, name, module.get())) return -1;
    if (PyDict_SetItemString(PyImport_GetModuleDict(), full.c_str(), module.get())) return -1;  // import acl.rt
  }
  return 0;
}

PyModuleDef_Slot kSlots[] = {{Py_mod_exec, reinterpret_cast<void*>(fill)}, {0, nullptr}};
PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "acl._acl", "AscendCL's functions.", 0, nullptr, kSlots, nullptr, nullptr, nullptr};

}  // namespace

bool left_behind() {
  const pthread_t ending = g_ending;
  return ending != pthread_t{} && !pthread_equal(ending, pthread_self());
}

bool check_count(const Function& function, Py_ssize_t given) {
  const auto most = static_cast<Py_ssize_t>(function.inputs.size());
  const Py_ssize_t least = most - static_cast<Py_ssize_t>(function.row->optional);
  if (given >= least && given <= most) return true;
  const std::string wanted =
      least == most ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
  PyErr_Format(PyExc_TypeError, "%s.%s: %zd given, want %s%s%s", function.module.c_str(), function.row->name, given,
               wanted.c_str(), most ? ": " : "", joined(function.inputs).c_str());
  return false;
}

Given argument(const Function& function, size_t index, PyObject* object) {
  return {object, function.module.c_str(), function.row->name, function.inputs[index]};
}

PyObject* results_of(std::vector<Object>& results) {
  for (const Object& value : results)
    if (!value) return nullptr;
  if (results.empty()) return Py_NewRef(Py_None);
  if (results.size() == 1) return results[0].release();
  Object tuple(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  if (!tuple) return nullptr;
  for (size_t i = 0; i < results.size(); ++i)
    if (PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), results[i].release())) return nullptr;
  return tuple.release();
}

}  // namespace pyacl

PyMODINIT_FUNC PyInit__acl() { return PyModuleDef_Init(&pyacl::kModule); }
