// run_lease.hpp — which coordinator a live run with agents has, where all of them can see it.
//
// A lease says which run it is, which term its coordinator has, which agents have joined, and where
// that coordinator is. One that is gone leaves it there; the next one takes the next term, and
// workers and agents obey the highest that they have heard of. There are two kinds, held to the
// same tests: a file in the run's folder (FolderLease), and an entry of a Redis (RedisLease), which
// agents can ask for the coordinator's address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ukemi::runtime {

// Who wants it.
struct LeaseClaim {
    std::uint64_t job = 0;  // job_identity of what the run trains
    bool goes_on = false;   // with what another coordinator has left, if one has
    std::string address;    // of its door
    // What it knows of that run from elsewhere, where the lease itself was lost.
    std::string known_run{};
    std::uint32_t known_term = 0;
};

struct RunLeader {
    std::string run;
    std::uint32_t term = 0;
    std::string address;
};

// Workers' numbers have room for so many.
inline constexpr std::uint32_t terms_max = 4095;

std::string drawn_run_name();  // 32 hexadecimal digits

class RunLease {
public:
    virtual ~RunLease() = default;
    RunLease() = default;
    RunLease(const RunLease&) = delete;
    RunLease& operator=(const RunLease&) = delete;

    const std::string& run() const { return run_; }
    std::uint32_t term() const { return term_; }
    bool is_successor() const { return term_ > 1; }
    const std::vector<std::string>& agents() const { return agents_; }  // of the one before
    // For the next one. std::system_error if that fails now.
    virtual void note_agents(const std::vector<std::string>& names) = 0;
    // Agents and workers may hear of its term from now on. A successor that is refused before
    // leaves the lease as it found it.
    void has_begun() { begun_ = true; }
    // Its agents are dismissed: the lease goes with the run. It also goes with a run that has not
    // begun: else a command that came to nothing would keep the next one from taking over.
    void run_has_ended() { ended_ = true; }
    // Why it is another's by now; nothing as long as it is not.
    virtual std::optional<std::string> lost_to() { return std::nullopt; }
    // What is the matter with where it is kept, once.
    virtual std::optional<std::string> take_problem() { return std::nullopt; }

protected:
    bool goes_with_us() const { return ended_ || !is_successor(); }
    bool is_given_back() const { return !goes_with_us() && !begun_; }
    std::string run_ = drawn_run_name();
    std::uint32_t term_ = 1;
    std::vector<std::string> agents_;

private:
    bool begun_ = false;
    bool ended_ = false;
};

}  // namespace ukemi::runtime
