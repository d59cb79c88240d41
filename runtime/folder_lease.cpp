#include "runtime/folder_lease.hpp"

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
#include "runtime/run_journal.hpp"

namespace ukemi::runtime {

namespace {

constexpr const char* lease_name = "coordinator.json";

std::string hexadecimal(std::uint64_t number) { return fmt::format("{:016x}", number); }

// Where a file system has no locks, the terms alone must do.
FileDescriptor locked(const std::filesystem::path& folder) {
    FileDescriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock) throw std::system_error(errno, std::generic_category(), folder.string());
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return lock;
    throw InputError(folder.string(), "", "its run has a coordinator that still runs");
}

}  // namespace

std::string drawn_run_name() {
    std::string name;
    const Secret random = random_secret();
    for (std::size_t i = 0; i < 16; ++i) name += fmt::format("{:02x}", random[i]);
    return name;
}

FolderLease::FolderLease(const std::filesystem::path& folder, const LeaseClaim& claim)
    : file_(folder / lease_name), lock_(locked(folder)), claim_(claim) {
    if (claim.goes_on && std::filesystem::exists(file_)) {
        read();
    } else {
        remove_journals(folder);  // of a run that is over
    }
    write();
}

FolderLease::~FolderLease() {
    std::error_code ignored;
    if (is_given_back() && is_ours()) give_back();
    if (!goes_with_us() || !is_ours()) return;
    std::filesystem::remove(file_, ignored);
    remove_journals(file_.parent_path());
}

// Where that fails, a term is used up.
void FolderLease::give_back() const {
    try {
        write_file_atomically(file_, before_);
    } catch (const std::system_error&) {
        // The next one takes the term after ours.
    }
}

void FolderLease::read() {
    before_ = read_file(file_);
    ConfigReader reader = ConfigReader::from_file(file_);
    run_ = reader.text("run");
    if (run_.size() != 32) reader.fail("run", "expected 32 hexadecimal digits");
    term_ = static_cast<std::uint32_t>(reader.integer("term", 1, terms_max - 1)) + 1;
    reader.text("address");
    if (reader.text("job") != hexadecimal(claim_.job)) {
        reader.fail("job", "is of another training: script, data, model, optimiser or seed differ");
    }
    agents_ = reader.texts("agents");
    reader.finish();
}

bool FolderLease::is_ours() const {
    try {
        ConfigReader reader = ConfigReader::from_file(file_);
        return reader.text("run") == run_ && reader.integer("term", 1, terms_max) == term_;
    } catch (const InputError&) {
        return false;
    }
}

void FolderLease::write() const {
    const nlohmann::ordered_json lease{{"run", run_},
                                       {"term", term_},
                                       {"address", claim_.address},
                                       {"job", hexadecimal(claim_.job)},
                                       {"agents", agents_}};
    write_file_atomically(file_, lease.dump(1) + "\n");
}

void FolderLease::note_agents(const std::vector<std::string>& names) {
    agents_ = names;
    if (is_ours()) write();
}

std::optional<RunLeader> FolderLease::leader(const std::filesystem::path& folder) {
    if (!std::filesystem::exists(folder / lease_name)) return std::nullopt;
    ConfigReader reader = ConfigReader::from_file(folder / lease_name);
    return RunLeader{reader.text("run"),
                     static_cast<std::uint32_t>(reader.integer("term", 1, terms_max)),
                     reader.text("address")};
}

}  // namespace ukemi::runtime
