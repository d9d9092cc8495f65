#include "graph/ir/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>

#include "base/error.h"
#include "base/parallel.h"
#include "graph/ir/large_blocks.h"
#include "graph/ir/mapped_files.h"

namespace updraft::graph {
namespace {

struct MappedFile {
  std::string path;  ///< from the root
  struct stat info;
};

std::mutex g_mutex;
/// By where they lie.
std::map<uintptr_t, MappedFile>& mapped() {
  static auto* all = new std::map<uintptr_t, MappedFile>;
  return *all;
}

/// With the lock: the file that holds these bytes, else null.
const MappedFile* file_of(const void* data, size_t size) {
  const auto at = reinterpret_cast<uintptr_t>(data);
  auto file = mapped().upper_bound(at);
  if (file == mapped().begin()) return nullptr;
  --file;
  return at + size <= file->first + static_cast<size_t>(file->second.info.st_size) ? &file->second : nullptr;
}

}  // namespace

bool in_mapped_file(const void* data, size_t size) {
  std::lock_guard lock(g_mutex);
  return file_of(data, size) != nullptr;
}

void require_unwritten(const void* data) {
  std::lock_guard lock(g_mutex);
  const MappedFile* const file = file_of(data, 1);
  struct stat now;
  if (!file || stat(file->path.c_str(), &now) != 0) return;  // without a name it cannot be written any more
  const struct stat& then = file->info;
  if (now.st_dev != then.st_dev || now.st_ino != then.st_ino) return;
  if (now.st_size != then.st_size || now.st_mtim.tv_sec != then.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != then.st_mtim.tv_nsec)
    throw Error(code::kAclInvalidFile,
                "{} was written while the model that was loaded from it is in use: load it again, and replace files of "
                "models by renaming (as atc does)",
                file->path);
}

namespace {
/// For the pages that lie wholly in these bytes of a mapped file.
void advise(const void* data, size_t size, int advice) {
  static const auto kPage = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (at + kPage - 1) / kPage * kPage, last = (at + size) / kPage * kPage;
  if (first >= last) return;
  if (in_mapped_file(data, size)) madvise(reinterpret_cast<void*>(first), last - first, advice);
}
}  // namespace

void drop_file_pages(const void* data, size_t size) { advise(data, size, MADV_DONTNEED); }

void want_file_pages(const void* data, size_t size) {
#ifdef MADV_POPULATE_READ  // Linux 5.14; elsewhere each page comes when it is read
  advise(data, size, MADV_POPULATE_READ);
#else
  (void)data, (void)size;
#endif
}

Bytes Bytes::allocate(size_t size, std::byte*& to) {
  if (size >= LargeBlocks::kLeast) {
    const LargeBlocks::Block block = LargeBlocks::get().take(size);
    to = block.data;
    return {std::shared_ptr<const void>(to, [block](const void*) { LargeBlocks::get().give_back(block); }), to, size};
  }
  constexpr std::align_val_t kAlign{64};
  to = static_cast<std::byte*>(::operator new(size + 1, kAlign));
  std::shared_ptr<const void> owner(to, [](const void* p) { ::operator delete(const_cast<void*>(p), kAlign); });
  return {std::move(owner), to, size};
}

Bytes Bytes::copy_of(const void* data, size_t size) {
  return make(size, [&](std::byte* to) { parallel_copy(to, data, size); });
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
    mapped()[reinterpret_cast<uintptr_t>(at)] = {std::filesystem::absolute(path).string(), info};
  }
  const auto unmap = [size](const void* p) {
    std::lock_guard lock(g_mutex);
    mapped().erase(reinterpret_cast<uintptr_t>(p));
    munmap(const_cast<void*>(p), size);
  };
  return {std::shared_ptr<const void>(at, unmap), at, size};
}

}  // namespace updraft::graph
