// folder_lease.hpp — a run's lease as a file of its folder, coordinator.json, beside the
// checkpoints and the journals.
//
// Two that see the same folder cannot have it at once: it is locked. One that does not see the
// folder is refused by the workers.
#pragma once

#include <filesystem>
#include <string>

#include "base/file_descriptor.hpp"
#include "runtime/run_lease.hpp"

namespace ukemi::runtime {

class FolderLease final : public RunLease {
public:
    // InputError if somebody has it, or the job is another; std::system_error if the machine fails.
    FolderLease(const std::filesystem::path& folder, const LeaseClaim& claim);
    ~FolderLease() override;

    void note_agents(const std::vector<std::string>& names) override;
    // Who leads the run there, or did; nothing if there is none. InputError for what is no lease.
    static std::optional<RunLeader> leader(const std::filesystem::path& folder);

private:
    void read();
    bool is_ours() const;  // and not a later coordinator's, where locks do not hold
    void write() const;
    void give_back() const;
    std::filesystem::path file_;
    std::string before_;  // what it said
    FileDescriptor lock_;
    LeaseClaim claim_;
};

}  // namespace ukemi::runtime
