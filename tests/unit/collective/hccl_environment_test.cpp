#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "collective/error.h"
#include "collective/topology/environment.h"
#include "collective/topology/product.h"
#include "collective/topology/variable.h"
#include "variables.h"

namespace updraft::collective {
namespace {

const SocProfile& k910A = *find_soc("Ascend910A");
const SocProfile& k910B2 = *find_soc("Ascend910B2");

class HcclEnvironment : public testing::Test {
 protected:
  Environment with(const std::string& name, const std::string& value, const SocProfile& product = k910B2) {
    variables_.clear();
    variables_.set(name, value);
    return Environment::read(product);
  }
  /// EI0001 with the name, the value and what else is said.
  void refused(const std::string& name, const std::string& value, const std::string& said = "",
               const SocProfile& product = k910B2) {
    SCOPED_TRACE(name + "=" + value);
    expect_error(result::kPara, {"EI0001: " + name, "\"" + value + "\"", "want", said},
                 [&] { with(name, value, product); });
  }
  Variables variables_;
};

TEST_F(HcclEnvironment, DefaultsAreTheGuides) {
  const Environment e = Environment::read(k910B2);
  EXPECT_EQ(e.base_port, 60000);
  ASSERT_EQ(e.ports.size(), 1u);
  EXPECT_EQ(e.ports[0], std::pair(uint16_t{60000}, uint16_t{60015}));
  EXPECT_EQ(e.connect_timeout, 120);
  EXPECT_EQ(e.exec_timeout, 1800);
  EXPECT_EQ(e.buffer_bytes, 200 << 20);
  EXPECT_FALSE(e.whitelist);
  EXPECT_FALSE(e.deterministic);
  EXPECT_EQ(e.socket_family, 0);
  EXPECT_EQ(e.algorithm(Kind::AllReduce, 1), Algorithm::Auto);
  EXPECT_TRUE(e.accepted.empty());
  EXPECT_TRUE(e.unknown.empty());
  EXPECT_EQ(&Environment::get(), &Environment::get());
}

TEST_F(HcclEnvironment, BlankIsUnsetAndWhiteSpaceAroundAValueIsNothing) {
  EXPECT_EQ(with("HCCL_CONNECT_TIMEOUT", "").connect_timeout, 120);
  EXPECT_EQ(with("HCCL_CONNECT_TIMEOUT", "  ").connect_timeout, 120);
  EXPECT_EQ(with("HCCL_CONNECT_TIMEOUT", " 200 ").connect_timeout, 200);
}

TEST_F(HcclEnvironment, EachNumberHasItsRange) {
  struct Range {
    const char* name;
    int64_t low, high;
    const SocProfile& product = k910B2;
  };
  for (const Range& r : {Range{"HCCL_CONNECT_TIMEOUT", 120, 7200},
                         {"HCCL_EXEC_TIMEOUT", 0, 2147483647},
                         {"HCCL_EXEC_TIMEOUT", 1, 17340, k910A},
                         {"HCCL_IF_BASE_PORT", 0, 65520},
                         {"HCCL_BUFFSIZE", 1, 2048},
                         {"HCCL_RDMA_TC", 0, 252},
                         {"HCCL_RDMA_SL", 0, 7},
                         {"HCCL_RDMA_TIMEOUT", 5, 20},
                         {"HCCL_RDMA_TIMEOUT", 5, 24, k910A},
                         {"HCCL_RDMA_RETRY_CNT", 1, 7},
                         {"HCCL_WHITELIST_DISABLE", 1, 1},  // 0 wants a file
                         {"HCCL_INTRA_PCIE_ENABLE", 0, 1},
                         {"HCCL_INTRA_ROCE_ENABLE", 0, 1},
                         {"HCCL_ALLTOALL_Z_COPY", 0, 1},
                         {"HCCL_RDMA_QPS_PER_CONNECTION", 1, 32},
                         {"HCCL_MULTI_QP_THRESHOLD", 1, 8192},
                         {"HCCL_DIAGNOSE_ENABLE", 0, 1},
                         {"HCCL_ENTRY_LOG_ENABLE", 0, 1}}) {
    EXPECT_NO_THROW(with(r.name, std::to_string(r.low), r.product)) << r.name;
    EXPECT_NO_THROW(with(r.name, std::to_string(r.high), r.product)) << r.name;
    refused(r.name, std::to_string(r.high + 1), "", r.product);
    if (r.low != 1 || std::string(r.name) != "HCCL_WHITELIST_DISABLE")
      refused(r.name, std::to_string(r.low - 1), "", r.product);
    for (const char* odd : {"x", "1.5", "+5", "0x10", "7 7", "1e2", "99999999999999999999", "-"})
      refused(r.name, odd, "", r.product);
  }
  refused("HCCL_CONNECT_TIMEOUT", "60", "[120, 7200]");
  refused("HCCL_RDMA_TC", "133", "multiple of 4");
}

TEST_F(HcclEnvironment, ExecutionTimeoutFollowsTheProduct) {
  EXPECT_EQ(with("HCCL_EXEC_TIMEOUT", "600").exec_timeout, 600);
  EXPECT_EQ(with("HCCL_EXEC_TIMEOUT", "0").exec_timeout, 0);
  EXPECT_EQ(with("HCCL_EXEC_TIMEOUT", "600", k910A).exec_timeout, 544);
  EXPECT_EQ(with("HCCL_EXEC_TIMEOUT", "1", k910A).exec_timeout, 68);
  EXPECT_EQ(with("HCCL_EXEC_TIMEOUT", "68", k910A).exec_timeout, 68);
  EXPECT_EQ(with("HCCL_EXEC_TIMEOUT", "135", k910A).exec_timeout, 68);
  EXPECT_EQ(with("HCCL_EXEC_TIMEOUT", "17340", k910A).exec_timeout, 17340);
  refused("HCCL_EXEC_TIMEOUT", "0", "(0, 17340]", k910A);
  EXPECT_TRUE(limits_of(*find_soc("Ascend910B")).timer_of_68);  // the first generation's B
  EXPECT_FALSE(limits_of(*find_soc("Ascend910B1")).timer_of_68);
  EXPECT_FALSE(limits_of(*find_soc("Ascend910_9391")).timer_of_68);
  EXPECT_TRUE(limits_of(*find_soc("Ascend310P3")).timer_of_68);
}

TEST_F(HcclEnvironment, OwnKnobsOverrideTimeouts) {
  variables_.set("HCCL_CONNECT_TIMEOUT", "300");
  variables_.set("UPDRAFT_HCCL_CONNECT_TIMEOUT", "0.25");
  variables_.set("UPDRAFT_HCCL_EXEC_TIMEOUT", "1.5");
  const Environment e = Environment::read(k910A);
  EXPECT_EQ(e.connect_timeout, 0.25);
  EXPECT_EQ(e.exec_timeout, 1.5);
  EXPECT_EQ(with("UPDRAFT_HCCL_EXEC_TIMEOUT", "0").exec_timeout, 0);
  for (const char* odd : {"0", "-1", "nan", "inf", "1s", "1e300"}) refused("UPDRAFT_HCCL_CONNECT_TIMEOUT", odd);
  for (const char* odd : {"-0.1", "nan", "never"}) refused("UPDRAFT_HCCL_EXEC_TIMEOUT", odd);
}

TEST_F(HcclEnvironment, Addresses) {
  EXPECT_EQ(with("HCCL_IF_IP", "10.10.10.1").if_ip, "10.10.10.1");
  EXPECT_EQ(with("HCCL_IF_IP", "FD00:0:0::2").if_ip, "fd00::2");
  for (const char* odd : {"eth0", "10.10.10", "10.10.10.256", "10.10.10.1,10.10.10.2", "10.0.0.1/24", "::g"})
    refused("HCCL_IF_IP", odd, "numeric");
  EXPECT_EQ(with("HCCL_SOCKET_FAMILY", "AF_INET").socket_family, AF_INET);
  EXPECT_EQ(with("HCCL_SOCKET_FAMILY", "AF_INET6").socket_family, AF_INET6);
  refused("HCCL_SOCKET_FAMILY", "IPv4", "AF_INET or AF_INET6");
  for (const char* form : {"eth,enp", "=eth0,endvnic", "^eth,enp", "^=eth0,enp1"})
    EXPECT_EQ(with("HCCL_SOCKET_IFNAME", form).socket_ifname, form);
  for (const char* odd : {"^", "=", "^=", "eth0,", ",eth0", "eth0,,eth1", "=^eth0", "eth0,^eth1"})
    refused("HCCL_SOCKET_IFNAME", odd, "^=eth0");
}

TEST_F(HcclEnvironment, Ports) {
  EXPECT_EQ(with("HCCL_IF_BASE_PORT", "65520").ports.at(0), std::pair(uint16_t{65520}, uint16_t{65535}));
  EXPECT_TRUE(with("HCCL_IF_BASE_PORT", "0").ports.empty());
  variables_.clear();
  variables_.set("HCCL_IF_BASE_PORT", "50000");
  variables_.set("HCCL_HOST_SOCKET_PORT_RANGE", "60000, 60050-60100");
  const Environment e = Environment::read(k910B2);
  ASSERT_EQ(e.ports.size(), 2u);
  EXPECT_EQ(e.ports[0], std::pair(uint16_t{60000}, uint16_t{60000}));
  EXPECT_EQ(e.ports[1], std::pair(uint16_t{60050}, uint16_t{60100}));
  EXPECT_TRUE(with("HCCL_HOST_SOCKET_PORT_RANGE", "auto").ports.empty());
  for (const char* odd : {"0", "65536", "5-4", "5-", "-5", "1-5,5-9", "7,7", "any", "1,,2"})
    refused("HCCL_HOST_SOCKET_PORT_RANGE", odd, "60050-60100");
}

TEST_F(HcclEnvironment, AlgorithmsOfAllAndOfSingleOperators) {
  Environment e = with("HCCL_ALGO", "level0:NA;level1:H-D_R;level2:NB");
  EXPECT_EQ(e.level, (Levels{Algorithm::Auto, Algorithm::HalvingDoubling, Algorithm::NB}));
  EXPECT_EQ(e.algorithm(Kind::Broadcast, 1), Algorithm::HalvingDoubling);
  const std::pair<const char*, Algorithm> words[] = {
      {"ring", Algorithm::Ring}, {"NHR", Algorithm::NHR},           {"NHR_V1", Algorithm::NHR},
      {"AHC", Algorithm::AHC},   {"pipeline", Algorithm::Pipeline}, {"pairwise", Algorithm::Pairwise},
      {"NA", Algorithm::Auto}};
  for (auto [word, algorithm] : words)
    EXPECT_EQ(with("HCCL_ALGO", std::string("level0:NA;level1:") + word + ";").algorithm(Kind::AllToAll, 1), algorithm);
  EXPECT_EQ(with("HCCL_ALGO", "level1:AHC;level2:ring").level[2], Algorithm::AHC);

  e = with("HCCL_ALGO", "allreduce=level0:NA;level1:ring/alltoall=level1:pairwise/others=level1:NHR");
  EXPECT_EQ(e.algorithm(Kind::AllReduce, 1), Algorithm::Ring);
  EXPECT_EQ(e.algorithm(Kind::AllToAllVC, 1), Algorithm::Pairwise);
  EXPECT_EQ(e.algorithm(Kind::Scatter, 1), Algorithm::NHR);
  for (const char* odd : {"ring", "level1", "level1:Ring", "level3:ring", "level0:ring", "level1:ring;level1:NB", ";",
                          "sum=level1:ring", "allreduce=level1:pairwise", "allreduce=level1:ring/allreduce=level1:NB",
                          "others=level1:NB/others=level1:NB", "allreduce=", "level1:ring/allreduce=level1:NB"})
    refused("HCCL_ALGO", odd);
  expect_error(result::kPara, {"EI0001: hcclAlgo"}, [&] { e.read_algorithms("x", "hcclAlgo"); });
}

TEST_F(HcclEnvironment, DeterministicAndFabric) {
  EXPECT_TRUE(with("HCCL_DETERMINISTIC", "TRUE").deterministic);
  EXPECT_TRUE(with("HCCL_DETERMINISTIC", "strict").deterministic);
  EXPECT_FALSE(with("HCCL_DETERMINISTIC", "false").deterministic);
  refused("HCCL_DETERMINISTIC", "1", "false, true or strict");
  EXPECT_EQ(with("HCCL_OP_EXPANSION_MODE", "AIV").accepted.at("HCCL_OP_EXPANSION_MODE"), "AIV");
  refused("HCCL_OP_EXPANSION_MODE", "aiv");
  EXPECT_EQ(with("HCCL_RDMA_TC", "100").accepted.at("HCCL_RDMA_TC"), "100");
  EXPECT_EQ(with("HCCL_LOGIC_SUPERPOD_ID", "pod_1").super_pod, "pod_1");
  refused("HCCL_LOGIC_SUPERPOD_ID", std::string(128, 'x'));
  variables_.clear();
  variables_.set("HCCL_INTRA_PCIE_ENABLE", "1");
  variables_.set("HCCL_INTRA_ROCE_ENABLE", "0");
  EXPECT_EQ(Environment::read(k910B2).accepted.size(), 2u);
  variables_.set("HCCL_INTRA_ROCE_ENABLE", "1");
  expect_error(result::kPara, {"EI0001: HCCL_INTRA_ROCE_ENABLE", "HCCL_INTRA_PCIE_ENABLE"},
               [] { Environment::read(k910B2); });
}

TEST_F(HcclEnvironment, ListsOfPairs) {
  EXPECT_NO_THROW(with("HCCL_OP_RETRY_ENABLE", "L0:0, L1:1, L2:1"));
  EXPECT_NO_THROW(with("HCCL_OP_RETRY_PARAMS", "MaxCnt:5,HoldTime:5000,IntervalTime:1000"));
  EXPECT_NO_THROW(
      with("HCCL_DFS_CONFIG", "connection_fault_detection_time:30,cluster_heartbeat:on,stuck_detection:off"));
  for (const char* odd : {"L3:1", "L0:2", "L0", "L0:1,L0:1", "L0:1,"}) refused("HCCL_OP_RETRY_ENABLE", odd, "L0:0");
  for (const char* odd : {"MaxCnt:11", "MaxCnt:0", "Hold:5", "HoldTime:60001"}) refused("HCCL_OP_RETRY_PARAMS", odd);
  for (const char* odd : {"connection_fault_detection_time:19", "cluster_heartbeat:1", "x:on"})
    refused("HCCL_DFS_CONFIG", odd);
}

TEST_F(HcclEnvironment, WhiteList) {
  const std::string path = testing::TempDir() + "whitelist.json";
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  refused("HCCL_WHITELIST_DISABLE", "0", "HCCL_WHITELIST_FILE");
  const auto read = [&] {
    variables_.set("HCCL_WHITELIST_DISABLE", "0");
    variables_.set("HCCL_WHITELIST_FILE", path);
    return Environment::read(k910B2);
  };
  write(R"({ "host_ip": ["10.0.0.1", "FD00::1"], "device_ip": ["ip1"] })");
  const Environment e = read();
  EXPECT_TRUE(e.whitelist);
  EXPECT_EQ(e.host_ips, (std::vector<std::string>{"10.0.0.1", "fd00::1"}));
  for (const char* odd :
       {"", "[]", "{", "{}", R"({"host_ip": []})", R"({"host_ip": "10.0.0.1"})", R"({"host_ip": [1]})",
        R"({"host_ip": ["10.0.0.1", "host"]})", R"({"host_ip": ["10.0.0.1\u0000"]})"}) {
    SCOPED_TRACE(odd);
    write(odd);
    expect_error(result::kPara, {"EI0001: HCCL_WHITELIST_FILE", path, "host_ip"}, read);
  }
  unlink(path.c_str());
  expect_error(result::kPara, {"EI0001: HCCL_WHITELIST_FILE", "No such file"}, read);
  variables_.set("HCCL_WHITELIST_DISABLE", "1");  // then nobody reads the file
  EXPECT_FALSE(Environment::read(k910B2).whitelist);
}

TEST_F(HcclEnvironment, UnknownVariablesGetTheNearestName) {
  const Environment e = with("HCCL_CONECT_TIMEOUT", "300");
  EXPECT_EQ(e.unknown.at("HCCL_CONECT_TIMEOUT"), "HCCL_CONNECT_TIMEOUT");
  EXPECT_EQ(e.connect_timeout, 120);
  EXPECT_EQ(with("HCCL_BUFFER_SIZE", "1").unknown.at("HCCL_BUFFER_SIZE"), "HCCL_BUFFSIZE");
  EXPECT_TRUE(with("HCCL_EVENT_TIMEOUT", "1").unknown.empty());  // torch_npu's
  EXPECT_TRUE(with("HCCL_ASYNC_ERROR_HANDLING", "1").unknown.empty());
}

TEST(Printable, KeepsTextAndReplacesBytes) {
  EXPECT_EQ(printable("中文 ok"), "中文 ok");
  EXPECT_EQ(printable("a\nb\x7f"), "a?b?");
  EXPECT_EQ(printable("\xff\xc0\xaf\xed\xa0\x80\xe4\xb8"), std::string(8, '?'));
  EXPECT_EQ(printable("中中", 4), "中…");
}

TEST_F(HcclEnvironment, ASecretIsLongAndNobodyElses) {
  const std::string path = testing::TempDir() + "updraft-secret-" + std::to_string(getpid());
  const auto write = [&](const std::string& text, mode_t mode) {
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
  };
  const std::string secret = "0123456789abcdef";
  EXPECT_EQ(Environment::read(k910B2).secret, "");
  EXPECT_FALSE(Environment::read(k910B2).trust_network);
  EXPECT_EQ(with("UPDRAFT_HCCL_SECRET", " " + secret + "\n").secret, secret);
  EXPECT_TRUE(with("UPDRAFT_HCCL_TRUST_NETWORK", "1").trust_network);
  write(secret + "\n", 0600);
  EXPECT_EQ(with("UPDRAFT_HCCL_SECRET_FILE", path).secret, secret);
  write(secret, 0400);
  EXPECT_EQ(with("UPDRAFT_HCCL_SECRET_FILE", path).secret, secret);
  for (const mode_t mode : {0640, 0604, 0620}) {
    write(secret, mode);
    refused("UPDRAFT_HCCL_SECRET_FILE", path, "chmod 600 " + path);
  }
  if (geteuid() == 0) {
    write(secret, 0600);
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    refused("UPDRAFT_HCCL_SECRET_FILE", path, "nobody else");
    unlink(path.c_str());
  }
  write("too short", 0600);
  try {
    with("UPDRAFT_HCCL_SECRET_FILE", path);
    ADD_FAILURE() << "nine bytes are taken";
  } catch (const Error& e) {
    EXPECT_NE(e.text().find("EI0001: what UPDRAFT_HCCL_SECRET_FILE holds is too short"), std::string::npos) << e.text();
  }
  unlink(path.c_str());
  refused("UPDRAFT_HCCL_SECRET_FILE", path, "No such file");
  refused("UPDRAFT_HCCL_TRUST_NETWORK", "yes");
  variables_.set("UPDRAFT_HCCL_SECRET", secret);
  variables_.set("UPDRAFT_HCCL_SECRET_FILE", path);
  expect_error(result::kPara, {"EI0001: UPDRAFT_HCCL_SECRET_FILE", "both are set"}, [] { Environment::read(k910B2); });
  variables_.clear();
  variables_.set("UPDRAFT_HCCL_SECRET", "hunter2");  // is not repeated in logs
  try {
    Environment::read(k910B2);
    ADD_FAILURE();
  } catch (const Error& e) { EXPECT_EQ(e.text().find("hunter2"), std::string::npos) << e.text(); }
}

}  // namespace
}  // namespace updraft::collective
