// Each process of tests has a run folder of its own, so that tests that run at the same time do not share the devices'
// memory (one of them fills a device), and in it one for testing::TempDir(). Programs that a test starts share both.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace {

class RunFolder {
 public:
  RunFolder() {
    const char* base = std::getenv("UPDRAFT_RUN_DIR");
    if (!base || std::getenv("UPDRAFT_TEST_RUN_FOLDER")) return;
    folder_ = std::string(base) + "/" + std::to_string(getpid());
    setenv("UPDRAFT_RUN_DIR", folder_.c_str(), 1);
    setenv("UPDRAFT_TEST_RUN_FOLDER", folder_.c_str(), 1);
    std::error_code error;
    std::filesystem::create_directories(folder_ + "/tmp", error);
    setenv("TEST_TMPDIR", (folder_ + "/tmp").c_str(), 1);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, error);
  }
  ~RunFolder() {
    std::error_code error;
    if (!folder_.empty() && getpid() == process_) std::filesystem::remove_all(folder_, error);
  }
  RunFolder(const RunFolder&) = delete;

 private:
  std::string folder_;
  const int process_ = getpid();
};

const RunFolder g_run_folder;

}  // namespace
