#include "runtime/run_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "base/text_digest.hpp"
#include "runtime/run_lease.hpp"
#include "runtime/wire.hpp"

namespace ukemi::runtime {

static auto fields(JournalHeader& r) {
    return std::tie(r.version, r.identity, r.run, r.term, r.follows, r.follows_bytes, r.started_ns,
                    r.machines, r.budget_nano_usd, r.stop_at_ns, r.resume_from, r.resume_samples,
                    r.resume_steps, r.before);
}
static auto fields(WorkerReady& r) { return std::tie(r.worker, r.spawn); }
static auto fields(WorkerDied& r) {
    return std::tie(r.worker, r.why, r.expected, r.was_member, r.host_gone);
}
static auto fields(StepDone& r) { return std::tie(r.step, r.position, r.report); }
static auto fields(GroupHeld& r) { return std::tie(r.step); }
static auto fields(GroupEntered& r) {
    return std::tie(r.epoch, r.version, r.step, r.position, r.digest, r.group_changed, r.rendezvous,
                    r.state_transfer, r.total);
}
static auto fields(TransitionFailed& r) { return std::tie(r.why); }
static auto fields(CheckpointSaved& r) {
    return std::tie(r.step, r.position, r.bytes, r.file, r.time);
}
static auto fields(CheckpointFailed& r) { return std::tie(r.why); }
static auto fields(AgentJoined& r) { return std::tie(r.agent, r.name, r.slots); }
static auto fields(AgentRefused& r) { return std::tie(r.host, r.why); }
static auto fields(AgentLeft& r) { return std::tie(r.agent, r.name, r.why); }
static auto fields(AgentNoticed& r) { return std::tie(r.agent, r.name, r.text, r.left, r.workers); }
static auto fields(CrewReplaced& r) { return std::tie(r.term); }
static auto fields(Took& r) { return std::tie(r.at, r.event); }
static auto fields(SetOut& r) { return std::tie(r.at); }
static auto fields(WentOn& r) { return std::tie(r.due); }
static auto fields(ToldEnd& r) { return std::tie(r.at); }
static auto fields(MachineAnswered& r) { return std::tie(r.at, r.machine, r.text, r.problem); }
static auto fields(MachineReturned& r) { return std::tie(r.name, r.kept); }
static auto fields(TakenOver& r) {
    return std::tie(r.since, r.at, r.term, r.spent_before_nano_usd);
}
static auto fields(WentBack& r) { return std::tie(r.at, r.file, r.step, r.position, r.remark); }

namespace {

constexpr std::string_view title = "ukemi run journal\n";
constexpr std::string_view file_prefix = "journal-";
constexpr std::size_t journal_bytes_max = std::size_t{64} << 30;
static_assert(sizeof(kernels::StepWord) == 160);  // another size is another JournalHeader::version
constexpr std::size_t frame_head = 12;            // its length and the digest of what follows

// A length, a digest, and the fields.
template <class T>
std::string frame_of(T value) {
    ByteString bytes;
    FrameWriter writer(bytes);
    writer.put(value);
    const std::string body(bytes.begin(), bytes.end());
    auto length = static_cast<std::uint32_t>(body.size());
    std::uint64_t digest = text_digest(body);
    ByteString head;
    FrameWriter head_writer(head);
    head_writer.put(length);
    head_writer.put(digest);
    return std::string(head.begin(), head.end()) + body;
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// How long the frame is that begins there, its head included; nothing if it is cut short. What a
// machine that went down has not written may be zeros.
std::optional<std::size_t> frame_length(std::string_view text, std::size_t at) {
    const std::string_view left = text.substr(at);
    if (left.size() < frame_head) return std::nullopt;
    std::uint32_t length = 0;
    FrameReader(bytes_of(left)).get(length);
    if (left.size() - frame_head < length) return std::nullopt;
    if (length == 0 && left.find_first_not_of('\0') == std::string_view::npos) return std::nullopt;
    return frame_head + length;
}

// The whole one from `at` on, which then stands behind it. False if it is damaged.
template <class T>
bool read_frame(std::string_view text, std::size_t& at, T& value) {
    const auto length = frame_length(text, at);
    if (!length) return false;
    const std::string_view body = text.substr(at + frame_head, *length - frame_head);
    std::uint64_t digest = 0;
    FrameReader(bytes_of(text.substr(at + 4))).get(digest);
    if (text_digest(body) != digest) return false;
    FrameReader reader(bytes_of(body));
    reader.get(value);
    at += *length;
    return reader.problem().empty() && reader.left() == 0;
}

std::filesystem::path file_of(const std::filesystem::path& folder, std::uint32_t term) {
    return folder / fmt::format("{}{:04}", file_prefix, term);
}

std::vector<std::filesystem::path> journals_in(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        if (entry.path().filename().string().starts_with(file_prefix)) {
            files.push_back(entry.path());
        }
    }
    return files;
}

void write_all(int descriptor, std::string_view text, const std::filesystem::path& file) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw std::system_error(errno, std::generic_category(), file.string());
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

RunJournal::RunJournal(const std::filesystem::path& folder, const JournalHeader& header)
    : file_(file_of(folder, header.term)),
      descriptor_(::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600)) {
    if (!descriptor_ && errno == EEXIST) {
        throw InputError(file_.string(), "",
                         fmt::format("another coordinator has this run, in term {}", header.term));
    }
    if (!descriptor_) throw std::system_error(errno, std::generic_category(), file_.string());
    try {
        write_all(descriptor_.get(), std::string(title) + frame_of(header), file_);
    } catch (...) {
        std::error_code ignored;
        std::filesystem::remove(file_, ignored);
        throw;
    }
    sync();
}

RunJournal::~RunJournal() {
    std::error_code ignored;
    if (descriptor_ && !kept_) std::filesystem::remove(file_, ignored);
}

void RunJournal::write(const JournalRecord& record) {
    if (!descriptor_) return;
    try {
        write_all(descriptor_.get(), frame_of(record), file_);
    } catch (const std::system_error& error) {
        problem_ = error.what();
        descriptor_.reset();
        remove_journals(file_.parent_path());
    }
}

std::optional<std::string> RunJournal::take_problem() { return std::exchange(problem_, {}); }

void RunJournal::sync() {
    if (descriptor_) ::fdatasync(descriptor_.get());
}

// Nothing of a file that was begun and has no header.
std::optional<RunPast::File> RunPast::read_file_of(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return std::nullopt;
    File found;
    found.text = read_file(file, journal_bytes_max);
    if (title.starts_with(found.text)) return std::nullopt;
    found.begin = title.size();
    const bool is_one = found.text.starts_with(title);
    if (is_one && !frame_length(found.text, found.begin)) return std::nullopt;
    if (is_one && read_frame(found.text, found.begin, found.header) &&
        found.header.version == JournalHeader{}.version) {
        return found;
    }
    throw InputError(file.string(), "",
                     "expected a run's journal as this version of ukemi writes it");
}

std::size_t RunPast::whole_frames(const File& file) {
    std::size_t end = file.begin;
    while (const auto length = frame_length(file.text, end)) end += *length;
    return end;
}

std::optional<RunPast> RunPast::read(const std::filesystem::path& folder, std::uint32_t term) {
    RunPast past;
    past.folder_ = folder;
    std::uint64_t counts = 0;
    for (std::uint32_t before = term - 1; before > 0;) {
        const std::filesystem::path file = file_of(folder, before);
        std::optional<File> found = read_file_of(file);
        const bool is_last = past.files_.empty();
        if (!found && is_last) {
            --before;  // that one did not come to write anything
            continue;
        }
        if (!found || found->text.size() < counts) {
            throw InputError(
                file.string(), "",
                fmt::format("expected the {} bytes that were read of it before", counts));
        }
        found->text.resize(is_last ? whole_frames(*found) : counts);
        counts = found->header.follows_bytes;
        before = found->header.follows;
        past.files_.push_back(std::move(*found));
    }
    if (past.files_.empty()) return std::nullopt;
    std::ranges::reverse(past.files_);
    past.at_ = past.files_.front().begin;
    return past;
}

std::optional<JournalRecord> RunPast::next() {
    while (at_ == files_[part_].text.size()) {
        if (part_ + 1 == files_.size()) return std::nullopt;
        at_ = files_[++part_].begin;
    }
    JournalRecord record;
    ++records_;
    if (!read_frame(files_[part_].text, at_, record)) fail("is damaged");
    return record;
}

void RunPast::fail(const std::string& why) const {
    throw InputError(file_of(folder_, files_[part_].header.term).string(), "",
                     fmt::format("at byte {}, record {}: {}", at_, records_, why));
}

std::optional<JournalHeader> last_journal(const std::filesystem::path& folder) {
    const auto past = RunPast::read(folder, terms_max + 1);
    return past ? std::optional(past->header()) : std::nullopt;
}

void remove_journals(const std::filesystem::path& folder) {
    std::error_code ignored;
    for (const auto& file : journals_in(folder)) std::filesystem::remove(file, ignored);
}

}  // namespace ukemi::runtime
