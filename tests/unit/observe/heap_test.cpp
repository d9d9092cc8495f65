// What a program says of its own pools of memory by mstx.
#include <gtest/gtest.h>

#include <string>

#include "acl/acl.h"
#include "mstx/ms_tools_ext.h"

namespace {

TEST(MstxMemory, HeapsAndRegionsAreChecked) {
  char memory[64];
  mstxMemVirtualRangeDesc_t whole = {0, memory, 64};
  mstxMemHeapDesc_t desc = {MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &whole};
  mstxMemHeapHandle_t heap = mstxMemHeapRegister(nullptr, &desc);
  ASSERT_TRUE(heap);

  auto said = [] {
    const char* text = aclGetRecentErrMsg();
    return std::string(text ? text : "");
  };
  mstxMemVirtualRangeDesc_t parts[] = {{0, memory, 16}, {0, memory + 16, 48}};
  mstxMemRegionHandle_t handles[2] = {};
  mstxMemRegionsRegisterBatch_t batch = {heap, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 2, parts, handles};
  mstxMemRegionsRegister(nullptr, &batch);
  ASSERT_TRUE(handles[0] && handles[1] && handles[0] != handles[1]);

  mstxMemVirtualRangeDesc_t beyond[] = {{0, memory, 8}, {0, memory + 60, 8}};
  mstxMemRegionHandle_t none[2] = {};
  batch = {heap, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 2, beyond, none};
  said();
  mstxMemRegionsRegister(nullptr, &batch);
  EXPECT_NE(said().find("outside its heap"), std::string::npos);
  EXPECT_FALSE(none[0] || none[1]) << "all or none";

  mstxMemRegionRef_t refs[2] = {};
  refs[0].refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
  refs[0].handle = handles[0];
  refs[1].refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
  refs[1].pointer = memory + 16;
  mstxMemRegionsUnregisterBatch_t gone = {2, refs};
  said();
  mstxMemRegionsUnregister(nullptr, &gone);
  EXPECT_EQ(said(), "");
  mstxMemRegionsUnregister(nullptr, &gone);
  EXPECT_NE(said().find("no region that is registered"), std::string::npos);

  whole.size = 0;
  EXPECT_FALSE(mstxMemHeapRegister(nullptr, &desc));
  EXPECT_FALSE(mstxMemHeapRegister(nullptr, nullptr));
  mstxMemHeapUnregister(nullptr, heap);
  said();
  mstxMemHeapUnregister(nullptr, heap);
  EXPECT_NE(said().find("none that mstxMemHeapRegister has made"), std::string::npos);
}

}  // namespace
