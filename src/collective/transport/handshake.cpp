#include "collective/transport/handshake.h"

#include <algorithm>
#include <cstring>

#include "base/random_bytes.h"
#include "collective/error.h"

namespace updraft::collective {
namespace {

/// What is signed begins with the role, so that nobody's proof serves as the other's, and each part with its length.
class Transcript {
 public:
  explicit Transcript(const char* role) { add(role, std::strlen(role)); }
  void add(const void* data, size_t bytes) {
    const uint64_t length = bytes;
    text_.append(reinterpret_cast<const char*>(&length), sizeof length);
    text_.append(static_cast<const char*>(data), bytes);
  }
  Digest sign(const std::string& key) const { return hmac_sha256(key.data(), key.size(), text_.data(), text_.size()); }

 private:
  std::string text_;
};

}  // namespace

Nonce make_nonce() {
  Nonce nonce;
  fill_random(nonce.data(), nonce.size(), result::kSyscall);
  return nonce;
}

KeyId id_of(const std::string& key) {
  const Digest digest = sha256(key.data(), key.size());
  KeyId id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

Digest acceptor_proof(const std::string& key, const Nonce& initiator, const Nonce& acceptor) {
  Transcript t("updraft acceptor");
  t.add(initiator.data(), initiator.size());
  t.add(acceptor.data(), acceptor.size());
  return t.sign(key);
}

Digest initiator_proof(const std::string& key, const Nonce& initiator, const Nonce& acceptor,
                       const std::string& initiator_address, const std::string& acceptor_address) {
  Transcript t("updraft initiator");
  t.add(initiator.data(), initiator.size());
  t.add(acceptor.data(), acceptor.size());
  t.add(initiator_address.data(), initiator_address.size());
  t.add(acceptor_address.data(), acceptor_address.size());
  return t.sign(key);
}

}  // namespace updraft::collective
