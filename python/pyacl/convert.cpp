#include "convert.h"

#include <algorithm>
#include <cstring>

namespace pyacl {

namespace {
std::string name_of_type(PyObject* object) {
  const Object name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  const char* text = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "?";
}

/// Adds one entry; false with the exception set.
bool put(const Object& dict, const char* key, PyObject* value) {
  const Object owned(value);
  return owned && PyDict_SetItemString(dict.get(), key, owned.get()) == 0;
}

PyObject* text(const char* bytes, size_t room) {
  return PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(strnlen(bytes, room)), "replace");
}

template <class T>
PyObject* list_of(const T* values, size_t count) {
  List<T> list;
  list.values.assign(values, values + count);
  return to_python(list);
}
template <class T>
PyObject* pairs(const T (*values)[2], size_t count) {
  List<List<T>> list;
  for (size_t i = 0; i < count; ++i) list.values.push_back({{values[i][0], values[i][1]}});
  return to_python(list);
}
}  // namespace

bool Given::refuse(const char* wanted) const {
  const std::string is = object == Py_None ? "None" : "of type " + name_of_type(object);
  PyErr_Format(PyExc_TypeError, "%s.%s: %s is %s, want %s", module, function, parameter.c_str(), is.c_str(), wanted);
  return false;
}
bool Given::refuse(PyObject* exception, const std::string& sentence) const {
  PyErr_Format(exception, "%s.%s: %s %s", module, function, parameter.c_str(), sentence.c_str());
  return false;
}
Given Given::element(PyObject* item, Py_ssize_t index) const {
  return {item, module, function, parameter + "[" + std::to_string(index) + "]"};
}

bool read_integer(const Given& given, int64_t lowest, uint64_t highest, uint64_t& bits) {
  const Object number(PyIndex_Check(given.object) ? PyNumber_Index(given.object) : nullptr);
  if (!number) return !PyErr_Occurred() && given.refuse("an int");
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  bits = static_cast<uint64_t>(value);
  bool fits = !overflow && value >= lowest && (value < 0 || bits <= highest);
  if (overflow > 0 && highest == UINT64_MAX) {
    bits = PyLong_AsUnsignedLongLong(number.get());
    fits = !PyErr_Occurred();
    PyErr_Clear();
  }
  if (fits) return true;
  const Object shown(PyObject_Str(number.get()));
  const char* digits = shown ? PyUnicode_AsUTF8AndSize(shown.get(), nullptr) : nullptr;
  PyErr_Clear();
  return given.refuse(PyExc_OverflowError, std::string("is ") + (digits ? digits : "too large") +
                                               ", want an int from " + std::to_string(lowest) + " to " +
                                               std::to_string(highest));
}

bool read_float(const Given& given, double& value) {
  if (!PyNumber_Check(given.object) || PyComplex_Check(given.object)) return given.refuse("a float");
  const Object number(PyNumber_Float(given.object));
  if (!number) {
    PyErr_Clear();
    return given.refuse("a float");
  }
  value = PyFloat_AsDouble(number.get());
  return true;
}

bool read_text(const Given& given, const char*& value) {
  if (!PyUnicode_Check(given.object)) return given.refuse("a str");
  Py_ssize_t size = 0;
  value = PyUnicode_AsUTF8AndSize(given.object, &size);
  if (!value) return false;
  if (std::strlen(value) != static_cast<size_t>(size))
    return given.refuse(PyExc_ValueError, "has a null character, which no C string can hold");
  return true;
}

bool read_sequence(const Given& given, const char* wanted, Object& items) {
  if (!PyList_Check(given.object) && !PyTuple_Check(given.object)) return given.refuse(wanted);
  items = Object::borrow(given.object);
  return true;
}

bool read(const Given& given, Callable& value) {
  value.object = given.object;
  return PyCallable_Check(given.object) || given.refuse("a function");
}
bool read(const Given& given, Bytes& value) {
  value.object = given.object;
  return PyBytes_Check(given.object) || given.refuse("bytes");
}

bool read_dims(const Given& given, aclmdlIODims& value) {
  constexpr const char* kWanted = "a dict as acl.mdl.get_input_dynamic_dims gives it: name, dimCount, dims";
  if (!PyDict_Check(given.object)) return given.refuse(kWanted);
  PyObject* dims = PyDict_GetItemString(given.object, "dims");
  if (!dims) return given.refuse(PyExc_ValueError, std::string("has no dims, want ") + kWanted);
  List<int64_t> sizes;
  if (!read(Given{dims, given.module, given.function, given.parameter + "['dims']"}, sizes)) return false;
  size_t count = sizes.values.size();
  if (PyObject* counted = PyDict_GetItemString(given.object, "dimCount"))
    if (!read(Given{counted, given.module, given.function, given.parameter + "['dimCount']"}, count)) return false;
  if (count > sizes.values.size() || count > std::size(value.dims))
    return given.refuse(PyExc_ValueError, "has dimCount " + std::to_string(count) + " and " +
                                              std::to_string(sizes.values.size()) +
                                              " dims, want at most as many and 128");
  value.dimCount = count;
  std::copy_n(sizes.values.begin(), count, value.dims);
  if (PyObject* name = PyDict_GetItemString(given.object, "name")) {
    const char* characters = nullptr;
    if (!read(Given{name, given.module, given.function, given.parameter + "['name']"}, characters)) return false;
    std::strncpy(value.name, characters, sizeof value.name - 1);
  }
  return true;
}

namespace {
/// An entry that may be absent.
template <class T>
bool entry(const Given& given, PyObject* dict, const char* key, T& value) {
  PyObject* found = PyDict_GetItemString(dict, key);
  return !found || read(Given{found, given.module, given.function, given.parameter + "['" + key + "']"}, value);
}
}  // namespace

bool read_property(const Given& given, aclrtPhysicalMemProp& value) {
  if (!PyDict_Check(given.object))
    return given.refuse("a dict: handleType, allocationType, memAttr, location (a dict: id, type), reserve");
  PyObject* location = PyDict_GetItemString(given.object, "location");
  if (location && !PyDict_Check(location))
    return given.refuse(PyExc_TypeError, "has a location that is no dict: id, type");
  return entry(given, given.object, "handleType", value.handleType) &&
         entry(given, given.object, "allocationType", value.allocationType) &&
         entry(given, given.object, "memAttr", value.memAttr) && entry(given, given.object, "reserve", value.reserve) &&
         (!location ||
          (entry(given, location, "id", value.location.id) && entry(given, location, "type", value.location.type)));
}

PyObject* to_python(const char* value) { return value ? text(value, std::strlen(value)) : Py_NewRef(Py_None); }

#define PUT(member) put(made, #member, to_python(value.member))
PyObject* to_python(const aclmdlIODims& value) {
  Object made(PyDict_New());
  const size_t count = std::min(value.dimCount, std::size(value.dims));
  const bool good = made && put(made, "name", text(value.name, sizeof value.name)) && PUT(dimCount) &&
                    put(made, "dims", list_of(value.dims, count));
  return good ? made.release() : nullptr;
}
PyObject* to_python(const aclmdlIODimsRange& value) {
  Object made(PyDict_New());
  const size_t count = std::min(value.rangeCount, std::size(value.range));
  return made && PUT(rangeCount) && put(made, "range", pairs(value.range, count)) ? made.release() : nullptr;
}
PyObject* to_python(const aclmdlBatch& value) {
  Object made(PyDict_New());
  const size_t count = std::min(value.batchCount, std::size(value.batch));
  return made && PUT(batchCount) && put(made, "batch", list_of(value.batch, count)) ? made.release() : nullptr;
}
PyObject* to_python(const aclmdlHW& value) {
  Object made(PyDict_New());
  const size_t count = std::min(value.hwCount, std::size(value.hw));
  return made && PUT(hwCount) && put(made, "hw", pairs(value.hw, count)) ? made.release() : nullptr;
}
PyObject* to_python(const aclmdlExeOMDesc& value) {
  Object made(PyDict_New());
  const bool good = made && PUT(workSize) && PUT(weightSize) && PUT(modelDescSize) && PUT(kernelSize) &&
                    PUT(kernelArgsSize) && PUT(staticTaskSize) && PUT(dynamicTaskSize) && PUT(fifoTaskSize);
  return good ? made.release() : nullptr;
}
PyObject* to_python(const aclrtUtilizationInfo& value) {
  Object made(PyDict_New());
  const bool good = made && PUT(cubeUtilization) && PUT(vectorUtilization) && PUT(aicpuUtilization) &&
                    PUT(memoryUtilization) && put(made, "utilizationExtend", to_python(value.utilizationExtend));
  return good ? made.release() : nullptr;
}
PyObject* to_python(const aclrtPtrAttributes& value) {
  Object made(PyDict_New()), location(PyDict_New());
  const bool good = made && location && put(location, "id", to_python(value.location.id)) &&
                    put(location, "type", to_python(value.location.type)) &&
                    put(made, "location", location.release()) && PUT(pageSize);
  return good ? made.release() : nullptr;
}

namespace {
PyObject* shapes(const aclAippDims* dims, size_t count) {
  Object list(PyList_New(0));
  for (size_t i = 0; list && i < count; ++i) {
    const auto& value = dims[i];
    const Object made(PyDict_New());
    const bool good = made && PUT(srcDims) && PUT(srcSize) && PUT(aippOutdims) && PUT(aippOutSize);
    if (!good || PyList_Append(list.get(), made.get())) return nullptr;
  }
  return list.release();
}
}  // namespace

PyObject* to_python(const aclAippInfo& value) {
  Object made(PyDict_New());
  const bool good = made && PUT(inputFormat) && PUT(srcImageSizeW) && PUT(srcImageSizeH) && PUT(cropSwitch) &&
                    PUT(loadStartPosW) && PUT(loadStartPosH) && PUT(cropSizeW) && PUT(cropSizeH) && PUT(resizeSwitch) &&
                    PUT(resizeOutputW) && PUT(resizeOutputH) && PUT(paddingSwitch) && PUT(leftPaddingSize) &&
                    PUT(rightPaddingSize) && PUT(topPaddingSize) && PUT(bottomPaddingSize) && PUT(cscSwitch) &&
                    PUT(rbuvSwapSwitch) && PUT(axSwapSwitch) && PUT(singleLineMode) && PUT(matrixR0C0) &&
                    PUT(matrixR0C1) && PUT(matrixR0C2) && PUT(matrixR1C0) && PUT(matrixR1C1) && PUT(matrixR1C2) &&
                    PUT(matrixR2C0) && PUT(matrixR2C1) && PUT(matrixR2C2) && PUT(outputBias0) && PUT(outputBias1) &&
                    PUT(outputBias2) && PUT(inputBias0) && PUT(inputBias1) && PUT(inputBias2) && PUT(meanChn0) &&
                    PUT(meanChn1) && PUT(meanChn2) && PUT(meanChn3) && PUT(minChn0) && PUT(minChn1) && PUT(minChn2) &&
                    PUT(minChn3) && PUT(varReciChn0) && PUT(varReciChn1) && PUT(varReciChn2) && PUT(varReciChn3) &&
                    PUT(srcFormat) && PUT(srcDatatype) && PUT(srcDimNum) && PUT(shapeCount) &&
                    put(made, "outDims", shapes(value.outDims, std::min(value.shapeCount, std::size(value.outDims))));
  return good ? made.release() : nullptr;
}
#undef PUT

}  // namespace pyacl
