#include "runtime/run_lease.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/config_reader.hpp"
#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "runtime/rendezvous.hpp"

namespace ukemi::runtime {

namespace {

constexpr const char* lease_name = "coordinator.json";
constexpr std::int64_t terms_max = 4095;  // worker's numbers have room for so many

std::string hexadecimal(std::uint64_t number) { return fmt::format("{:016x}", number); }

std::string drawn_name() {
    std::string name;
    const Secret random = random_secret();
    for (std::size_t i = 0; i < 16; ++i) name += fmt::format("{:02x}", random[i]);
    return name;
}

// Where a file system has no locks, the terms alone must do.
FileDescriptor locked(const std::filesystem::path& folder) {
    FileDescriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock) throw std::system_error(errno, std::generic_category(), folder.string());
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return lock;
    throw InputError(folder.string(), "", "its run has a coordinator that still runs");
}

}  // namespace

RunLease::RunLease(const std::filesystem::path& folder, std::uint64_t job, bool goes_on)
    : file_(folder / lease_name), lock_(locked(folder)), run_(drawn_name()), job_(job) {
    if (goes_on && std::filesystem::exists(file_)) read();
    write();
}

bool RunLease::is_left(const std::filesystem::path& folder) {
    return std::filesystem::exists(folder / lease_name);
}

RunLease::~RunLease() {
    std::error_code ignored;
    if ((ended_ || !is_successor()) && is_ours()) std::filesystem::remove(file_, ignored);
}

void RunLease::read() {
    ConfigReader reader = ConfigReader::from_file(file_);
    run_ = reader.text("run");
    if (run_.size() != 32) reader.fail("run", "expected 32 hexadecimal digits");
    term_ = static_cast<std::uint32_t>(reader.integer("term", 1, terms_max - 1)) + 1;
    if (reader.text("job") != hexadecimal(job_)) {
        reader.fail("job", "is of another training: script, data, model, optimiser or seed differ");
    }
    agents_ = reader.texts("agents");
    reader.finish();
}

bool RunLease::is_ours() const {
    try {
        ConfigReader reader = ConfigReader::from_file(file_);
        return reader.text("run") == run_ && reader.integer("term", 1, terms_max) == term_;
    } catch (const InputError&) {
        return false;
    }
}

void RunLease::write() const {
    const nlohmann::ordered_json lease{
        {"run", run_}, {"term", term_}, {"job", hexadecimal(job_)}, {"agents", agents_}};
    write_file_atomically(file_, lease.dump(1) + "\n");
}

void RunLease::note_agents(const std::vector<std::string>& names) {
    agents_ = names;
    if (is_ours()) write();
}

std::filesystem::path newest_checkpoint(const std::filesystem::path& folder) {
    std::filesystem::path newest;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::filesystem::path& file = entry.path();
        const std::string name = file.filename().string();
        const bool is_one = name.starts_with("checkpoint-") && file.extension() == ".ukemi";
        if (is_one && (newest.empty() || name > newest.filename().string())) newest = file;
    }
    return newest;
}

}  // namespace ukemi::runtime
