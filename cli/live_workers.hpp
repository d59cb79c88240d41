// live_workers.hpp — the options that every command with live workers has.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "scenarios/live_run.hpp"

namespace ukemi {

struct LiveWorkerOptions {
    std::filesystem::path scenario;
    std::vector<std::string> settings;
    std::string backend = "cpu";  // of backend_names()
    std::optional<std::int32_t> workers;
    std::vector<int> cores;

    void add_to(CLI::App& command);
    // The scenario with --set and --workers carried out.
    Scenario read_scenario() const;
    // The machine with what its workers compute on: what costs belong to. Throws like
    // expect_backend, so whoever asks has refused before anything starts.
    std::string device() const;
    // This very program as the workers' program, told the backend; makes the folder for
    // checkpoints.
    // From then on SIGINT and SIGTERM only set `interrupted`, and what runs comes to its end.
    LiveOptions live_options(const std::filesystem::path& folder) const;
};

// InputError if there is one: it would be taken away in the end.
void expect_no_folder(const std::filesystem::path& scratch);

// Takes the folder away in the end, however that comes.
class FolderRemover {
public:
    explicit FolderRemover(std::filesystem::path folder) : folder_(std::move(folder)) {}
    ~FolderRemover() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    FolderRemover(const FolderRemover&) = delete;
    FolderRemover& operator=(const FolderRemover&) = delete;

private:
    std::filesystem::path folder_;
};

}  // namespace ukemi
