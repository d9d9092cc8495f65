// Offline models: the file that atc writes and aclmdlLoadFromFile reads. A header of 256 bytes, a table of partitions,
// and the partitions; the layout is the one that Netron reads.
#pragma once
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace updraft::om {

/// True when the bytes begin as an offline model does.
bool looks_like_om(std::span<const std::byte> bytes);

/// The file. The graph goes into partition 0 (as ge.proto.ModelDef), the constants' bytes into partition 1. The model's
/// attribute "soc_version" (text) is the product that it is for.
graph::Bytes write(const graph::Model& model);

/// A part of a file.
struct Part {
  uint64_t type, offset, bytes;  ///< the offset counts from the file's begin
  const char* name;
};
/// All of them. Throws as read() does.
std::vector<Part> parts(const graph::Bytes& file);

/// A file of several models, one behind the other, each as write() makes it; the first header says how many there are.
graph::Bytes write_bundle(const std::vector<graph::Model>& models);
/// The models of such a file; they share its bytes. Throws as read() does, and for a file of one model.
std::vector<graph::Bytes> bundle_members(const graph::Bytes& file);
/// One of them.
graph::Model read_member(const graph::Bytes& member);

/// The model in a file; its constants share the file's bytes, everything else is copied. Throws 100013
/// (ACL_ERROR_PARSE_MODEL) for what is no offline model, with what it seems to be, and for one that is cut off,
/// encrypted, or damaged, and for a bundle of several.
graph::Model read(const graph::Bytes& file);

}  // namespace updraft::om
