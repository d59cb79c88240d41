// run_lease.hpp — which coordinator a live run with agents has, in a file of its folder.
//
// The folder of checkpoints says which run it is, which term its coordinator has and which agents
// have joined (coordinator.json). A coordinator that is gone leaves it there; the next one takes
// the next term, and workers and agents obey the highest that they have heard of. Two that see the
// same folder cannot have it at once: it is locked. One that does not see the folder is refused by
// the workers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"

namespace ukemi::runtime {

class RunLease {
public:
    // Of a run whose job has this identity (job_identity). If the folder has a coordinator.json of
    // a coordinator that is gone, and `goes_on`, it is the next term of that run, else a new run.
    // InputError if somebody has it, or the job is another; std::system_error if the machine fails.
    RunLease(const std::filesystem::path& folder, std::uint64_t job, bool goes_on);
    // The file goes with a run that has ended, or that has not begun: else a command that came to
    // nothing would keep the next one from taking over.
    ~RunLease();
    RunLease(const RunLease&) = delete;
    RunLease& operator=(const RunLease&) = delete;

    const std::string& run() const { return run_; }
    std::uint32_t term() const { return term_; }
    bool is_successor() const { return term_ > 1; }
    const std::vector<std::string>& agents() const { return agents_; }  // of the one before
    void note_agents(const std::vector<std::string>& names);
    void run_has_ended() { ended_ = true; }  // its agents are dismissed
    // Whether a coordinator has left its run in this folder.
    static bool is_left(const std::filesystem::path& folder);

private:
    void read();
    bool is_ours() const;  // and not a later coordinator's, where locks do not hold
    void write() const;
    std::filesystem::path file_;
    FileDescriptor lock_;
    std::string run_;
    std::uint32_t term_ = 1;
    std::uint64_t job_;
    std::vector<std::string> agents_;
    bool ended_ = false;
};

// The newest checkpoint of a folder; empty if it has none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& folder);

}  // namespace ukemi::runtime
