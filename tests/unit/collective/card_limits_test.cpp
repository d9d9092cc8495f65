// What UPDRAFT_FIDELITY=card refuses of collective operations.
#include "collective/topology/card_limits.h"

#include <gtest/gtest.h>

#include "collective/error.h"
#include "variables.h"

namespace updraft::collective {
namespace {

const SocProfile& product(const char* name) { return *find_soc(name); }

Request request(Kind kind, Type type, Op op = Op::Sum, uint64_t count = 4) {
  Request r;
  r.kind = kind;
  r.type = type;
  r.op = op;
  r.count = count;
  return r;
}

bool taken(const char* name, const Request& r, int ranks = 4) {
  try {
    check_operation(r, 0, ranks, product(name));
    return true;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), result::kPara);
    EXPECT_TRUE(e.text().starts_with("EI0003: ")) << e.text();
    return false;
  }
}

TEST(CardLimits, TypesOfReductions) {
  for (const Kind kind : {Kind::AllReduce, Kind::Reduce, Kind::ReduceScatter, Kind::ReduceScatterV})
    for (int t = 0; t < kTypes; ++t)
      for (const Op op : {Op::Sum, Op::Prod, Op::Max, Op::Min}) {
        const auto type = static_cast<Type>(t);
        const bool all = type == Type::Int8 || type == Type::Int32 || type == Type::Float16 || type == Type::Float32;
        const bool newer = all || (type == Type::Int16 && op != Op::Prod) || (type == Type::BFloat16 && op == Op::Sum);
        EXPECT_EQ(taken("Ascend910A", request(kind, type, op)), all) << name_of(type) << name_of(op);
        EXPECT_EQ(taken("Ascend910B2", request(kind, type, op)), newer) << name_of(type) << name_of(op);
      }
}

TEST(CardLimits, TypesThatAreMoved) {
  for (const Kind kind : {Kind::AllGather, Kind::Broadcast, Kind::Scatter, Kind::AllToAll, Kind::AllGatherV})
    for (int t = 0; t < kTypes; ++t) {
      const auto type = static_cast<Type>(t);
      EXPECT_EQ(taken("Ascend910A", request(kind, type)), type != Type::Int16 && type != Type::BFloat16);
      EXPECT_TRUE(taken("Ascend910B2", request(kind, type)));
    }
  Request message = request(Kind::Send, Type::Int8);
  message.messages = {{true, Type::BFloat16, 1, 4, nullptr}};
  EXPECT_FALSE(taken("Ascend910A", message));
  EXPECT_TRUE(taken("Ascend910B2", message));
  EXPECT_TRUE(taken("Ascend910A", request(Kind::Barrier, Type::Int8)));
}

TEST(CardLimits, BytesOfReductions) {
  const uint64_t most = uint64_t{8} << 30;
  EXPECT_TRUE(taken("Ascend910B2", request(Kind::AllReduce, Type::Float32, Op::Sum, most / 4)));
  EXPECT_FALSE(taken("Ascend910B2", request(Kind::AllReduce, Type::Float32, Op::Sum, most / 4 + 1)));
  EXPECT_TRUE(taken("Ascend910B2", request(Kind::ReduceScatter, Type::Int8, Op::Max, most / 4), 4));
  EXPECT_FALSE(taken("Ascend910B2", request(Kind::ReduceScatter, Type::Int8, Op::Max, most / 4 + 1), 4));
}

TEST(CardLimits, SaysWhatIsTaken) {
  expect_error(
      result::kPara,
      {"EI0003: HcclAllReduce, prod, of bfp16", "Ascend 910B takes int8, int32, fp16, fp32", "UPDRAFT_SOC",
       "UPDRAFT_FIDELITY"},
      [] { check_operation(request(Kind::AllReduce, Type::BFloat16, Op::Prod), 0, 2, product("Ascend910B2")); });
  expect_error(result::kPara, {"8589934596 bytes", "8589934592"}, [] {
    check_operation(request(Kind::Reduce, Type::Float32, Op::Sum, (uint64_t{2} << 30) + 1), 0, 2,
                    product("Ascend910A"));
  });
}

TEST(CardLimits, Servers) {
  const auto refused = [](const char* name, const std::vector<ServerShare>& servers, const std::string& part) {
    expect_error(result::kPara, {"EI0003: communicator c has ", part},
                 [&] { check_servers("c", servers, product(name)); });
  };
  for (const std::vector<int>& good : {std::vector<int>{5}, {0, 3}, {4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}) {
    EXPECT_NO_THROW(check_servers("c", {{0, good}, {8, good}}, product("Ascend910A")));
    EXPECT_NO_THROW(check_servers("c", {{0, good}}, product("Ascend910B2")));
  }
  refused("Ascend910A", {{0, {0, 1, 2}}}, "1, 2, 4 or 8");
  EXPECT_NO_THROW(check_servers("c", {{0, {0, 1, 2}}}, product("Ascend910B2")));
  refused("Ascend910A", {{0, {3, 4}}}, "one net");
  EXPECT_NO_THROW(check_servers("c", {{0, {3, 4}}}, product("Ascend910B2")));
  refused("Ascend910B2", {{0, {0, 1}}, {2, {0}}}, "as many on every server");
  refused("Ascend910B2", {{0, {8}}}, "devices 0 to 7");
  refused("Ascend910B2", {{0, {0, 1, 2, 3, 4, 5, 6, 7, 8}}}, "8 at most");
  refused("Ascend910A", std::vector<ServerShare>(513, {0, {0}}), "512 at most");
  EXPECT_NO_THROW(check_servers("c", std::vector<ServerShare>(1024, {0, {0}}), product("Ascend910B2")));
  refused("Ascend910B2", std::vector<ServerShare>(1025, {0, {0}}), "1024 at most");
}

}  // namespace
}  // namespace updraft::collective
