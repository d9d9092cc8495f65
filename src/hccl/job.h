// Communicators of the job that the environment describes (rank table, CM_*) and of the groups that hccl.manage.api
// made in it, by name.
#pragma once
#include <string>

namespace updraft {

/// The communicator of a group, hccl_world_group or one of create_group; a handle as HcclCommInitRootInfo gives. Made
/// when it is first asked for: every rank of the group must ask for it then, and every rank of the job before or with
/// its first group. Later calls give the same handle, until it is destroyed. Throws EI0003 when there is no such group,
/// EI0001 when the environment does not say where the ranks can meet.
void* group_communicator(const std::string& name);

/// Ends the group's communicator, if there is one.
void end_group_communicator(const std::string& name);

}  // namespace updraft
