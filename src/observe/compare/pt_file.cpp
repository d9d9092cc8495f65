#include "observe/compare/pt_file.h"

#include <zlib.h>

#include <cstring>
#include <map>
#include <variant>

#include "base/error.h"

namespace updraft::compare {
namespace {

// ---- zip -----------------------------------------------------------------------------------------------------------

template <class T>
T number_at(std::span<const std::byte> bytes, size_t at) {
  T value{};
  if (at > bytes.size() || bytes.size() - at < sizeof value) throw Error(code::kAclParseFile, "it ends too early");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The entries of an archive by name. Only stored ones, as torch.save makes them.
std::map<std::string, std::span<const std::byte>, std::less<>> entries_of(std::span<const std::byte> bytes) {
  std::map<std::string, std::span<const std::byte>, std::less<>> entries;
  // The end of the central directory, before a comment of up to 64 KiB.
  if (bytes.size() < 22) throw Error(code::kAclParseFile, "it is no zip archive");
  size_t end = bytes.size() - 22;
  const size_t least = end > 65535 ? end - 65535 : 0;
  while (number_at<uint32_t>(bytes, end) != 0x06054b50) {
    if (end == least) throw Error(code::kAclParseFile, "it is no zip archive");
    --end;
  }
  uint64_t count = number_at<uint16_t>(bytes, end + 10), at = number_at<uint32_t>(bytes, end + 16);
  if ((count == 0xffff || at == 0xffffffff) && end >= 20 && number_at<uint32_t>(bytes, end - 20) == 0x07064b50) {
    const auto big = number_at<uint64_t>(bytes, end - 20 + 8);
    count = number_at<uint64_t>(bytes, big + 32);
    at = number_at<uint64_t>(bytes, big + 48);
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (number_at<uint32_t>(bytes, at) != 0x02014b50) throw Error(code::kAclParseFile, "its directory is damaged");
    const auto method = number_at<uint16_t>(bytes, at + 10);
    uint64_t size = number_at<uint32_t>(bytes, at + 24), local = number_at<uint32_t>(bytes, at + 42);
    const size_t name = number_at<uint16_t>(bytes, at + 28), extra = number_at<uint16_t>(bytes, at + 30),
                 comment = number_at<uint16_t>(bytes, at + 32);
    if (bytes.size() - at < 46 + name + extra) throw Error(code::kAclParseFile, "its directory is damaged");
    if (size == 0xffffffff || local == 0xffffffff) {  // the numbers of 64 bits are in the extra field
      for (size_t e = at + 46 + name; e + 4 <= at + 46 + name + extra;) {
        const auto id = number_at<uint16_t>(bytes, e), length = number_at<uint16_t>(bytes, e + 2);
        size_t field = e + 4;
        if (id == 1) {
          if (size == 0xffffffff) {
            size = number_at<uint64_t>(bytes, field);
            field += 16;  // the compressed size beside it
          }
          if (local == 0xffffffff) local = number_at<uint64_t>(bytes, field);
        }
        e += 4u + length;
      }
    }
    if (method != 0) throw Error(code::kAclParseFile, "its parts are compressed, want them as torch.save stores them");
    const size_t begin = local + 30 + number_at<uint16_t>(bytes, local + 26) + number_at<uint16_t>(bytes, local + 28);
    if (begin > bytes.size() || size > bytes.size() - begin)
      throw Error(code::kAclParseFile, "its parts are longer than the file");
    entries[std::string(reinterpret_cast<const char*>(bytes.data()) + at + 46, name)] = bytes.subspan(begin, size);
    at += 46 + name + extra + comment;
  }
  return entries;
}

// ---- pickle --------------------------------------------------------------------------------------------------------

struct Item;
using Items = std::vector<Item>;
struct Global {
  std::string name;
};
struct Storage {
  int32_t type = 0;
  std::string key;
};
struct Tensor {
  Storage storage;
  int64_t offset = 0;
  std::vector<int64_t> dims, strides;
};
struct Mark {};
/// What tensors are made of; everything else is kept as nothing.
struct Item {
  std::variant<std::monostate, int64_t, std::string, Global, std::shared_ptr<Items>, Storage, Tensor, Mark> value;
};

int32_t storage_type(const std::string& global) {
  static const std::map<std::string, int32_t> kTypes = {
      {"FloatStorage", 1},   {"HalfStorage", 2},          {"CharStorage", 3},      {"ByteStorage", 4},
      {"ShortStorage", 5},   {"IntStorage", 7},           {"LongStorage", 8},      {"BoolStorage", 11},
      {"DoubleStorage", 12}, {"ComplexFloatStorage", 16}, {"BFloat16Storage", 27}, {"ComplexDoubleStorage", 17}};
  const auto found = kTypes.find(global.substr(global.rfind('.') + 1));
  return found == kTypes.end() ? 0 : found->second;
}

/// Reads what torch.save writes of tensors and stops at the first.
class Pickle {
 public:
  explicit Pickle(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Tensor first_tensor() {
    while (true) {
      const auto op = static_cast<unsigned char>(next(1)[0]);
      if (op == '.') throw Error(code::kAclParseFile, "it holds no tensor");
      step(op);
      if (!stack_.empty())
        if (const auto* tensor = std::get_if<Tensor>(&stack_.back().value)) return *tensor;
    }
  }

 private:
  std::span<const std::byte> next(size_t n) {
    if (n > bytes_.size() - at_) throw Error(code::kAclParseFile, "its pickle ends too early");
    at_ += n;
    return bytes_.subspan(at_ - n, n);
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, next(sizeof(T)).data(), sizeof value);
    return value;
  }
  std::string text(size_t n) {
    const auto bytes = next(n);
    return {reinterpret_cast<const char*>(bytes.data()), n};
  }
  std::string line() {
    std::string made;
    for (char c; (c = static_cast<char>(next(1)[0])) != '\n';) made += c;
    return made;
  }
  Item pop() {
    if (stack_.empty()) throw Error(code::kAclParseFile, "its pickle is damaged");
    Item item = std::move(stack_.back());
    stack_.pop_back();
    return item;
  }
  void push(Item item) {
    if (stack_.size() > 100000) throw Error(code::kAclParseFile, "its pickle is damaged");
    stack_.push_back(std::move(item));
  }
  std::shared_ptr<Items> to_mark() {
    auto items = std::make_shared<Items>();
    while (true) {
      Item item = pop();
      if (std::holds_alternative<Mark>(item.value)) break;
      items->insert(items->begin(), std::move(item));
    }
    return items;
  }
  void tuple(size_t n) {
    auto items = std::make_shared<Items>(n);
    for (size_t i = n; i-- > 0;) (*items)[i] = pop();
    push({std::move(items)});
  }

  static const Items* items(const Item& item) {
    const auto* list = std::get_if<std::shared_ptr<Items>>(&item.value);
    return list ? list->get() : nullptr;
  }
  static std::vector<int64_t> numbers(const Item& item) {
    std::vector<int64_t> made;
    if (const Items* list = items(item))
      for (const Item& one : *list)
        if (const auto* n = std::get_if<int64_t>(&one.value)) made.push_back(*n);
    return made;
  }

  void persistent() {  // ('storage', type, key, place, elements)
    const Item id = pop();
    const Items* list = items(id);
    Storage storage;
    if (list && list->size() >= 3) {
      if (const auto* type = std::get_if<Global>(&(*list)[1].value)) storage.type = storage_type(type->name);
      if (const auto* key = std::get_if<std::string>(&(*list)[2].value)) storage.key = *key;
    }
    push({std::move(storage)});
  }

  void reduce() {
    const Item arguments = pop(), function = pop();
    const auto* global = std::get_if<Global>(&function.value);
    const Items* list = items(arguments);
    if (global && list && global->name.find("_rebuild_parameter") != std::string::npos && !list->empty())
      return push((*list)[0]);
    if (global && list && global->name.find("_rebuild_tensor") != std::string::npos && list->size() >= 4)
      if (const auto* storage = std::get_if<Storage>(&(*list)[0].value)) {
        Tensor tensor;
        tensor.storage = *storage;
        if (const auto* offset = std::get_if<int64_t>(&(*list)[1].value)) tensor.offset = *offset;
        tensor.dims = numbers((*list)[2]);
        tensor.strides = numbers((*list)[3]);
        return push({std::move(tensor)});
      }
    push({});
  }

  void step(unsigned char op) {
    switch (op) {
      case 0x80: next(1); break;  // PROTO
      case 0x95: next(8); break;  // FRAME
      case '(': push({Mark{}}); break;
      case ')': push({std::make_shared<Items>()}); break;
      case ']': push({std::make_shared<Items>()}); break;
      case '}': push({}); break;
      case 't':
      case 'l': push({to_mark()}); break;
      case 0x85: tuple(1); break;
      case 0x86: tuple(2); break;
      case 0x87: tuple(3); break;
      case 'K': push({static_cast<int64_t>(number<uint8_t>())}); break;
      case 'M': push({static_cast<int64_t>(number<uint16_t>())}); break;
      case 'J': push({static_cast<int64_t>(number<int32_t>())}); break;
      case 0x8a: {  // LONG1
        const size_t n = number<uint8_t>();
        const auto bytes = next(n);
        uint64_t value = 0;
        for (size_t i = 0; i < n && i < 8; ++i) value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
        push({static_cast<int64_t>(value)});
        break;
      }
      case 'X': push({text(number<uint32_t>())}); break;
      case 0x8c: push({text(number<uint8_t>())}); break;
      case 'G':
        next(8);
        push({});
        break;
      case 'N': push({}); break;
      case 0x88:
      case 0x89: push({static_cast<int64_t>(op == 0x88)}); break;
      case 'c': {
        const std::string module = line();
        push({Global{module + "." + line()}});
        break;
      }
      case 0x93: {  // STACK_GLOBAL
        const Item name = pop(), module = pop();
        const auto *n = std::get_if<std::string>(&name.value), *m = std::get_if<std::string>(&module.value);
        push({Global{(m ? *m : "") + "." + (n ? *n : "")}});
        break;
      }
      case 'q': memo(number<uint8_t>()); break;
      case 'r': memo(number<uint32_t>()); break;
      case 0x94: memo(static_cast<uint32_t>(memo_.size())); break;
      case 'h': recall(number<uint8_t>()); break;
      case 'j': recall(number<uint32_t>()); break;
      case 'Q': persistent(); break;
      case 'R': reduce(); break;
      case 'b':
      case '0': pop(); break;  // BUILD leaves the object
      case 's':
        pop();
        pop();
        break;
      case 'u':
      case 'e': to_mark(); break;
      case 'a': pop(); break;
      default: throw Error(code::kAclParseFile, "its pickle has the operation {:#x}, which tensors do not need", op);
    }
  }
  void memo(uint32_t i) {
    if (i > 100000 || stack_.empty()) throw Error(code::kAclParseFile, "its pickle is damaged");
    if (i >= memo_.size()) memo_.resize(i + 1);
    memo_[i] = stack_.back();
  }
  void recall(uint32_t i) {
    if (i >= memo_.size()) throw Error(code::kAclParseFile, "its pickle is damaged");
    push(memo_[i]);
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  std::vector<Item> stack_, memo_;
};

// ---- writing -------------------------------------------------------------------------------------------------------

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

const char* storage_name(int32_t type) {
  switch (type) {
    case 1: return "FloatStorage";
    case 2: return "HalfStorage";
    case 0:
    case 3: return "CharStorage";
    case 4: return "ByteStorage";
    case 5: return "ShortStorage";
    case 7: return "IntStorage";
    case 8: return "LongStorage";
    case 11: return "BoolStorage";
    case 12: return "DoubleStorage";
    case 16: return "ComplexFloatStorage";
    case 17: return "ComplexDoubleStorage";
    case 27: return "BFloat16Storage";
    default: return nullptr;
  }
}

void put_number(std::string& to, int64_t n) {
  to += '\x8a';  // LONG1
  to += '\x08';
  put(to, n);
}

void put_text(std::string& to, std::string_view text) {
  to += 'X';
  put(to, static_cast<uint32_t>(text.size()));
  to += text;
}

std::string pickle_of(const Array& array, const char* storage) {
  std::string p =
      "\x80\x02"
      "ctorch._utils\n_rebuild_tensor_v2\n((";
  put_text(p, "storage");
  p += std::string("ctorch\n") + storage + "\n";
  put_text(p, "0");
  put_text(p, "cpu");
  put_number(p, array.count());
  p += "tQ";
  put_number(p, 0);
  p += '(';
  for (int64_t d : array.dims) put_number(p, d);
  p += "t(";
  for (size_t i = 0; i < array.dims.size(); ++i) {
    int64_t stride = 1;
    for (size_t k = i + 1; k < array.dims.size(); ++k) stride *= std::max<int64_t>(array.dims[k], 1);
    put_number(p, stride);
  }
  p += "t\x89"
       "ccollections\nOrderedDict\n)RtR.";
  return p;
}

}  // namespace

Array read_pt(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  try {
    const auto entries = entries_of(file->bytes());
    std::string folder;
    std::span<const std::byte> pickle;
    for (const auto& [name, bytes] : entries)
      if (name.ends_with("/data.pkl")) {
        folder = name.substr(0, name.size() - 8);
        pickle = bytes;
      }
    if (pickle.empty()) throw Error(code::kAclParseFile, "it has no data.pkl");
    const Tensor tensor = Pickle(pickle).first_tensor();
    const auto data = entries.find(folder + "data/" + tensor.storage.key);
    if (data == entries.end() || !tensor.storage.type)
      throw Error(code::kAclParseFile, "its tensor has a type that is not known, or no data");
    Array array;
    array.type = tensor.storage.type;
    array.dims = array.original_dims = tensor.dims;
    array.owner = file;
    const size_t size = dump::type_size(array.type);
    if (tensor.dims.size() != tensor.strides.size()) throw Error(code::kAclParseFile, "its tensor is damaged");
    int64_t expected = 1, last = 0, count = 1;
    bool dense = true;
    for (size_t i = tensor.dims.size(); i-- > 0;) {
      const int64_t d = tensor.dims[i], s = tensor.strides[i];
      int64_t reach = 0;
      if (d < 0 || s < 0 || tensor.offset < 0 || __builtin_mul_overflow(count, d, &count) ||
          __builtin_mul_overflow(std::max<int64_t>(d - 1, 0), s, &reach) || __builtin_add_overflow(last, reach, &last))
        throw Error(code::kAclParseFile, "its tensor is damaged");
      dense = dense && (d == 1 || s == expected);
      expected *= d;
    }
    const auto storage = data->second;
    if (count > 0 && (static_cast<uint64_t>(tensor.offset) + static_cast<uint64_t>(last) >= storage.size() / size))
      throw Error(code::kAclParseFile, "its tensor is larger than its data");
    if (count == 0) return array;
    if (dense) {
      array.data = storage.subspan(static_cast<size_t>(tensor.offset) * size, static_cast<size_t>(count) * size);
      return array;
    }
    auto copy = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(count) * size);
    std::vector<int64_t> index(tensor.dims.size());
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = tensor.offset, rest = i;
      for (size_t d = tensor.dims.size(); d-- > 0;) {
        at += rest % tensor.dims[d] * tensor.strides[d];
        rest /= tensor.dims[d];
      }
      std::memcpy(copy->data() + static_cast<size_t>(i) * size, storage.data() + static_cast<size_t>(at) * size, size);
    }
    array.data = *copy;
    array.owner = copy;
    return array;
  } catch (const Error& e) { damaged(path, e.text()); }
}

std::string write_pt(const Array& array) {
  const char* storage = storage_name(array.type);
  if (!storage)
    throw Error(code::kAclParseFile, "PyTorch has no type {}: convert to npy or bin", dump::type_name(array.type));
  const std::string pickle = pickle_of(array, storage);
  const std::string_view data(reinterpret_cast<const char*>(array.data.data()),
                              static_cast<size_t>(array.count()) * dump::type_size(array.type));
  const std::pair<std::string, std::string_view> parts[] = {{"archive/data.pkl", pickle},
                                                            {"archive/byteorder", "little"},
                                                            {"archive/data/0", data},
                                                            {"archive/version", "3\n"}};
  if (data.size() >= 0xfffffff0) throw Error(code::kAclParseFile, "it has 4 GiB or more: convert to npy or bin");
  std::string file, directory;
  for (const auto& [name, bytes] : parts) {
    const auto crc = static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    const auto at = static_cast<uint32_t>(file.size()), size = static_cast<uint32_t>(bytes.size());
    // The bytes of a part begin at a multiple of 64, as PyTorch has them.
    const size_t start = file.size() + 30 + name.size() + 4;
    const auto padding = static_cast<uint16_t>((64 - start % 64) % 64);
    auto common = [&](std::string& to) {
      put<uint16_t>(to, 20), put<uint16_t>(to, 0), put<uint16_t>(to, 0), put<uint16_t>(to, 0), put<uint16_t>(to, 33);
      put<uint32_t>(to, crc), put<uint32_t>(to, size), put<uint32_t>(to, size);
      put<uint16_t>(to, static_cast<uint16_t>(name.size()));
    };
    put<uint32_t>(file, 0x04034b50);
    common(file);
    put<uint16_t>(file, static_cast<uint16_t>(padding + 4));
    file += name + "FB";
    put<uint16_t>(file, padding);
    file.append(padding, 'Z');
    file += bytes;
    put<uint32_t>(directory, 0x02014b50);
    put<uint16_t>(directory, 20);
    common(directory);
    put<uint16_t>(directory, 0), put<uint16_t>(directory, 0), put<uint16_t>(directory, 0), put<uint16_t>(directory, 0);
    put<uint32_t>(directory, 0), put<uint32_t>(directory, at);
    directory += name;
  }
  const auto at = static_cast<uint32_t>(file.size());
  file += directory;
  put<uint32_t>(file, 0x06054b50);
  put<uint16_t>(file, 0), put<uint16_t>(file, 0), put<uint16_t>(file, 4), put<uint16_t>(file, 4);
  put<uint32_t>(file, static_cast<uint32_t>(directory.size())), put<uint32_t>(file, at), put<uint16_t>(file, 0);
  return file;
}

}  // namespace updraft::compare
