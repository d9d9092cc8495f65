// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Runtime: devices, contexts, streams, events, memory, kernels, capture. Include this file; acl/rt/ holds its parts.
 */
#ifndef UPDRAFT_ACL_ACL_RT_H_
#define UPDRAFT_ACL_ACL_RT_H_

#include "acl/acl_base.h"
#include "acl/rt/capture.h"
#include "acl/rt/device.h"
#include "acl/rt/error.h"
#include "acl/rt/event.h"
#include "acl/rt/kernel.h"
#include "acl/rt/memory.h"
#include "acl/rt/stream.h"
#include "acl/rt/structs.h"
#include "acl/rt/types.h"

#endif  // UPDRAFT_ACL_ACL_RT_H_
