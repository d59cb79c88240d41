// swarm_seeds.hpp — the seeds that a swarm of random worlds goes through: a fixed number at least,
// more while there is time, or the one that is to be looked at again.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/invariant.hpp"

namespace ukemi {

// UKEMI_SWARM_SECONDS says how long to go on beyond the least number of seeds, UKEMI_SWARM_SEED
// which seed alone to look at. What breaks an invariant names the seed.
class SwarmSeeds {
public:
    SwarmSeeds(std::string command, double seconds, std::uint64_t least)
        : command_(std::move(command)), seconds_(seconds), least_(least) {
        if (const char* given = std::getenv("UKEMI_SWARM_SECONDS")) seconds_ = std::atof(given);
        if (const char* only = std::getenv("UKEMI_SWARM_SEED")) {
            only_ = std::strtoull(only, nullptr, 10);
        }
    }
    SwarmSeeds(const SwarmSeeds&) = delete;
    SwarmSeeds& operator=(const SwarmSeeds&) = delete;

    // `enough`: what else must have been reached, beside the least number of seeds. Not inline: g++
    // 12 takes the note in an object on the stack, which takes itself out again, for dangling.
    [[gnu::noinline]] bool more(bool enough = true) {
        note_.reset();
        ++count_;
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun_;
        if (only_ ? count_ > 1 : count_ > least_ && enough && spent.count() > seconds_)
            return false;
        note_.emplace(fmt::format("UKEMI_SWARM_SEED={} {}", now(), command_));
        return true;
    }
    std::uint64_t now() const { return only_.value_or(count_); }
    bool one_alone() const { return only_.has_value(); }
    std::uint64_t looked_at() const { return count_ - 1; }  // when there are no more

private:
    std::string command_;
    double seconds_;
    std::uint64_t least_;
    std::optional<std::uint64_t> only_;
    std::uint64_t count_ = 0;
    std::optional<ReplayNote> note_;
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace ukemi
