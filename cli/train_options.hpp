// train_options.hpp — what `ukemi train` is told.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/live_workers.hpp"

namespace ukemi::cli {

struct TrainOptions {
    LiveWorkerOptions live;
    std::string policies;
    std::string revocations;
    double time_scale = 1;
    double stop_within_s = 20;
    std::string notices;
    std::optional<std::uint64_t> seed;
    std::string costs;
    std::string resume;
    std::string out;
    bool force = false;
    bool json = false;
    bool log_events = false;
    std::string agents;
    std::filesystem::path secret_file;
    bool ranks = false;
    std::optional<std::int64_t> link_steps;
    std::string rendezvous;
    std::filesystem::path redis_password_file;
    std::string provider;
    std::optional<double> budget_usd;
    std::string stop_at;
    bool dry_run = false;
};

}  // namespace ukemi::cli
