// cluster_maker.hpp — schedules and searches, as a sweep makes them: every variant under every seed
// by everybody who decides. A group is a variant under one seed.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "analysis/database/run_maker.hpp"
#include "analysis/requests/cluster_runs.hpp"

namespace ukemi::analysis {

// "schedule" or "search" for a file that is such a scenario or the run.json of its results; nothing
// for another. InputError for what is no JSON object.
std::string_view cluster_command(const std::filesystem::path& file);

// Of that command; reads and checks every variant. `threads`: runs at a time; 0: as many as there
// are cores.
std::unique_ptr<RunMaker> cluster_maker(const ClusterRequest& request, std::string_view command,
                                        int threads);

}  // namespace ukemi::analysis
