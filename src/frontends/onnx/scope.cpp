#include "frontends/onnx/scope.h"

namespace updraft::onnx {

Endpoint Scope::captured(Endpoint from, Frame& owner, std::string_view name) {
  if (&frame == &owner) return from;
  // Through every frame between, from the outside in.
  if (frame.outer != &owner) {
    Frame* between = frame.outer;
    Scope inner(*between, nullptr, opsets, nullptr, "");
    from = inner.captured(from, owner, name);
  }
  const auto [place, added] = frame.seen.try_emplace({from.node, from.index});
  if (!added) return place->second;
  const Tensor* value = frame.outer->build.value(from);
  if (value) {
    place->second = frame.build.constant(std::string(name), *value);
  } else {
    place->second = frame.build.input(std::string(name), frame.inputs++, frame.outer->build.desc(from));
    frame.captured.push_back(from);
  }
  return place->second;
}

const Value* Scope::find(std::string_view name) {
  if (const auto found = values_.find(std::string(name)); found != values_.end()) return &found->second;
  if (!outer) return nullptr;
  const Value* there = outer->find(name);
  if (!there || &outer->frame == &frame) return there;
  Value own = *there;
  if (own.tensor) own.tensor = captured(own.tensor, outer->frame, name);
  for (Endpoint& e : own.items) e = captured(e, outer->frame, name);
  return &(values_[std::string(name)] = std::move(own));
}

}  // namespace updraft::onnx
