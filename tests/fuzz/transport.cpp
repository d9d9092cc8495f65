// The TCP transport: bytes of a stranger, and frames of peers that have the key and keep to no rule.
#include "collective/transport/transport.h"

#include <future>
#include <vector>

#include "../unit/collective/raw_client.h"
#include "input.h"

using namespace updraft;
using namespace updraft::collective;

namespace {

const std::string key(32, 'k');

/// Messages that wait for the peer's; each must end, however the peer behaves.
struct Waiting {
  std::vector<std::string> memory;
  std::vector<std::future<int>> over;
  Completion next() {
    auto promise = std::make_shared<std::promise<int>>();
    over.push_back(promise->get_future());
    return [promise](const Error* error) { promise->set_value(error ? error->code() : 0); };
  }
  void start(Transport& t, Peer& peer) {
    memory.reserve(8);
    for (const size_t bytes : {0u, 5u, 70000u}) {
      std::string& in = memory.emplace_back(bytes, 'r');
      t.receive(peer, bytes % 3, in.data(), bytes, next());
      const std::string& out = memory.emplace_back(bytes, 's');
      t.send(peer, bytes % 3, out.data(), bytes, next());
    }
  }
  void finish() {
    for (auto& i : over) {
      if (i.wait_for(std::chrono::seconds(20)) != std::future_status::ready) fuzz::wrong("a message never ends", 0);
      const int code = i.get();
      if (code != 0 && code != 1 && code != 21) fuzz::wrong("a message ends with another code", code);
    }
  }
};

void frames(RawClient& client, fuzz::Input& in) {
  while (!in.empty()) {
    const int kind = in.below(10);
    if (kind == 9) {
      if (!client.write(in.text(40))) return;
      continue;
    }
    const auto a = static_cast<uint64_t>(in.odd_number()), b = static_cast<uint64_t>(in.odd_number());
    const size_t most = in.one_in(20) ? 70000 : in.below(30);
    std::string payload = in.text(most);
    if (most == 70000) payload.resize(most);
    FrameHeader header{static_cast<Frame>(kind), static_cast<uint32_t>(payload.size()), a, b};
    if (in.one_in(15)) header.length = static_cast<uint32_t>(in.odd_number());
    if (!client.write(&header, sizeof header) || !client.write(payload)) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Transport> transport = [] {
    TransportOptions options;
    options.bind_ip = "127.0.0.1";
    return make_tcp_transport(options);
  }();
  static RawServer server;
  static uint64_t number = 0;
  fuzz::Input in(data, size);
  const int mode = in.below(4);
  ++number;
  if (mode == 0) {
    RawClient stranger(transport->address());
    if (in.one_in(2)) stranger.write(kMagic.data(), kMagic.size());
    stranger.write(in.text(size));
    return 0;
  }
  // Nobody listens at port 1: what comes, comes from the fuzzer's side.
  const std::string address =
      mode == 3 ? server.address().substr(0, server.address().rfind(' ')) + fmt::format(" {:x}", number)
                : fmt::format("tcp 127.0.0.1 1 {:016x}", number);
  const std::shared_ptr<Peer> peer = transport->peer(address, key);
  if (mode == 1) {  // a handshake that begins well
    RawClient client(transport->address());
    const Hello hello{kMagic, id_of(key), make_nonce()};
    Challenge challenge;
    if (!client.write(&hello, sizeof hello) || !client.read(&challenge, sizeof challenge))
      fuzz::wrong("no challenge", 0);
    Proof proof{};
    const std::string claimed = in.text(kAddressBytes);
    proof.proof = initiator_proof(key, hello.nonce, challenge.nonce, claimed.c_str(), transport->address());
    std::memcpy(proof.address.data(), claimed.data(), claimed.size());
    client.write(&proof, sizeof proof);
    client.write(in.text(size));
  } else if (mode == 2) {
    RawClient client(transport->address());
    if (!client.authenticate(key, key, address, transport->address())) fuzz::wrong("no welcome", 0);
    Waiting waiting;
    waiting.start(*transport, *peer);
    frames(client, in);
    ::shutdown(client.fd(), SHUT_WR);
    waiting.finish();
  } else {
    Waiting waiting;
    waiting.start(*transport, *peer);
    const int fd = server.accept();
    if (fd < 0) fuzz::wrong("no connection", fd);
    {
      RawClient client(fd);
      if (!client.welcome(key)) fuzz::wrong("no proof", 0);
      frames(client, in);
    }
    waiting.finish();
  }
  return 0;
}
