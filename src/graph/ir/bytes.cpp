#include "graph/ir/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "base/error.h"
#include "graph/ir/mapped_files.h"

namespace updraft::graph {
namespace {

std::mutex g_mutex;
/// Where mapped files lie, and how many bytes they have.
std::map<uintptr_t, size_t>& mapped() {
  static auto* all = new std::map<uintptr_t, size_t>;
  return *all;
}

}  // namespace

void drop_file_pages(const void* data, size_t size) {
  static const auto kPage = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (at + kPage - 1) / kPage * kPage, last = (at + size) / kPage * kPage;
  if (first >= last) return;
  std::lock_guard lock(g_mutex);
  auto file = mapped().upper_bound(at);
  if (file == mapped().begin()) return;
  --file;
  if (at + size > file->first + file->second) return;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

Bytes Bytes::allocate(size_t size, std::byte*& to) {
  constexpr std::align_val_t kAlign{64};
  to = static_cast<std::byte*>(::operator new(size + 1, kAlign));
  std::shared_ptr<const void> owner(to, [](const void* p) { ::operator delete(const_cast<void*>(p), kAlign); });
  return {std::move(owner), to, size};
}

Bytes Bytes::copy_of(const void* data, size_t size) {
  return make(size, [&](std::byte* to) {
    if (size) std::memcpy(to, data, size);
  });
}

Bytes Bytes::of_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error(code::kAclInvalidFile, "{}: {}", path, std::strerror(errno));
  struct stat info;
  const bool file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const size_t size = file ? static_cast<size_t>(info.st_size) : 0;
  void* at = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  close(fd);
  if (at == MAP_FAILED) throw Error(code::kAclInvalidFile, "{} is {}", path, file ? "empty" : "no file");
  {
    std::lock_guard lock(g_mutex);
    mapped()[reinterpret_cast<uintptr_t>(at)] = size;
  }
  const auto unmap = [size](const void* p) {
    std::lock_guard lock(g_mutex);
    mapped().erase(reinterpret_cast<uintptr_t>(p));
    munmap(const_cast<void*>(p), size);
  };
  return {std::shared_ptr<const void>(at, unmap), at, size};
}

}  // namespace updraft::graph
