#include "tensor/dtype.h"

#include "base/error.h"

namespace updraft {

bool is_computable(DType t) {
  return visit_storage(t, []<class T>() {});
}

void no_such_type(DType t, const char* where) {
  throw Error(code::kAclnnParamInvalid, "{} does not take elements of type {} ({})", where, name_of(t),
              static_cast<int>(t));
}

size_t size_of(DType t) {
  switch (t) {
    case DType::Float:
    case DType::Int32:
    case DType::UInt32:
    case DType::Complex32: return 4;
    case DType::Float16:
    case DType::BFloat16:
    case DType::Int16:
    case DType::UInt16: return 2;
    case DType::Int8:
    case DType::UInt8:
    case DType::Bool: return 1;
    case DType::Int64:
    case DType::UInt64:
    case DType::Double:
    case DType::Complex64: return 8;
    case DType::Complex128: return 16;
    default: return 0;
  }
}

const char* name_of(DType t) {
  switch (t) {
    case DType::Float: return "FLOAT";
    case DType::Float16: return "FLOAT16";
    case DType::Int8: return "INT8";
    case DType::Int32: return "INT32";
    case DType::UInt8: return "UINT8";
    case DType::Int16: return "INT16";
    case DType::UInt16: return "UINT16";
    case DType::UInt32: return "UINT32";
    case DType::Int64: return "INT64";
    case DType::UInt64: return "UINT64";
    case DType::Double: return "DOUBLE";
    case DType::Bool: return "BOOL";
    case DType::String: return "STRING";
    case DType::Complex64: return "COMPLEX64";
    case DType::Complex128: return "COMPLEX128";
    case DType::BFloat16: return "BFLOAT16";
    case DType::Int4: return "INT4";
    case DType::UInt1: return "UINT1";
    case DType::Complex32: return "COMPLEX32";
    default: return "UNDEFINED";
  }
}

namespace {
// bool < integers by width < halves < float < double; complex above.
int category(DType t) { return is_complex(t) ? 3 : is_floating(t) ? 2 : t == DType::Bool ? 0 : 1; }
}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  int ca = category(a), cb = category(b);
  if (ca == 3 || cb == 3) {
    // Complex32 stays with what is not wider than its parts.
    const DType other = a == DType::Complex32 ? b : b == DType::Complex32 ? a : DType::Complex64;
    if (is_half(other) || is_integral(other, true)) return DType::Complex32;
    bool wide = a == DType::Complex128 || b == DType::Complex128 || a == DType::Double || b == DType::Double;
    return wide ? DType::Complex128 : DType::Complex64;
  }
  if (ca != cb) return ca > cb ? a : b;
  if (ca == 2) {
    if (a == DType::Double || b == DType::Double) return DType::Double;
    return DType::Float;  // two different types among half, bfloat16 and float
  }
  if (size_of(a) != size_of(b)) {
    DType wide = size_of(a) > size_of(b) ? a : b;
    return wide;
  }
  // Signed and unsigned of one width: the next wider signed type.
  switch (size_of(a)) {
    case 1: return DType::Int16;
    case 2: return DType::Int32;
    default: return DType::Int64;
  }
}

}  // namespace updraft
