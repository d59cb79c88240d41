// run_journal.hpp — what has happened to a live run with agents, written down as it happens, so
// that the next coordinator can live through it again.
//
// A World is a function of what comes to it from outside: what the crew reports, what a provider
// answers, and the moments at which either was taken up. Each coordinator writes that into a file
// of its own beside the checkpoints (journal-TERM), before it acts on it; who comes after it
// reads all of them in order, as far as the one in between has read, and then has the same bill,
// the same policies, and the same decisions. One that lives on without knowing of its successor
// spoils nothing: nobody reads what it writes from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "runtime/crew.hpp"

namespace ukemi::runtime {

// What the run is, at the beginning of each file.
struct JournalHeader {
    std::uint32_t version = 4;   // of the bytes of all records
    std::uint64_t identity = 0;  // of scenario, policies, seed and time scale
    std::string run;
    std::uint32_t term = 1;
    std::uint32_t follows = 0;        // the term whose file comes before it, if any,
    std::uint64_t follows_bytes = 0;  // and how much of it counts
    std::int64_t started_ns = 0;      // the system's clock at the run's first moment
    std::string machines;             // the beginning of a provider's machines' names
    std::optional<std::int64_t> budget_nano_usd;
    std::optional<std::int64_t> stop_at_ns;
    std::filesystem::path resume_from;  // the checkpoint that its first coordinator began from
    std::int64_t resume_samples = 0;
    std::int64_t resume_steps = 0;
    std::string before;  // its RunAccount, as JSON; empty: none
};

struct Took {  // the trainer took up what the crew reported
    Instant at;
    CrewEvent event;
};
struct SetOut {  // the group that stood trains on
    Instant at;
};
struct WentOn {  // the World took its next event, which was due at this moment
    Instant due;
};
struct ToldEnd {  // the World was told to end
    Instant at;
};
struct MachineAnswered {  // a provider was heard about a machine that was asked for
    Instant at;
    InstanceId machine{};
    std::string text;     // what its program has printed
    std::string problem;  // why that is no answer; mostly empty
};
struct MachineReturned {  // nobody has to give it back any more
    std::string name;
    std::string kept;  // why it could not be; mostly empty
};
struct TakenOver {  // by the coordinator of this term
    Instant since;  // the last moment that is known of the one before
    Instant at;
    std::uint32_t term = 0;
    std::int64_t spent_before_nano_usd = 0;
};

struct WentBack {  // to an older checkpoint, for what is newer is damaged
    Instant at;
    std::filesystem::path file;
    std::int64_t step = 0;
    std::int64_t position = 0;
    std::string remark;
};

using JournalRecord = std::variant<Took, SetOut, WentOn, ToldEnd, MachineAnswered, MachineReturned,
                                   TakenOver, WentBack>;

class RunJournal {
public:
    // Begins the file of header.term in this folder. InputError if it is there: somebody else has
    // that term; std::system_error if the machine fails.
    RunJournal(const std::filesystem::path& folder, const JournalHeader& header);
    // The file of one that was not kept goes: its coordinator was refused, or failed, before it
    // acted on anything, and its term is free again.
    ~RunJournal();
    RunJournal(const RunJournal&) = delete;
    RunJournal& operator=(const RunJournal&) = delete;
    void keep() { kept_ = true; }

    // Before what it says is acted on. Where the machine fails it says so once, and all journals
    // of the folder go: half of one would be a lie.
    void write(const JournalRecord& record);
    std::optional<std::string> take_problem();
    void sync();  // what is written outlives the machine, too, where that can be had

private:
    std::optional<std::string> problem_;
    std::filesystem::path file_;
    FileDescriptor descriptor_;
    bool kept_ = false;
};

// What was written before, in order.
class RunPast {
public:
    // Of all coordinators before this term. Nothing if there is none; InputError for a file that is
    // damaged other than at its end.
    static std::optional<RunPast> read(const std::filesystem::path& folder, std::uint32_t term);

    const JournalHeader& header() const { return files_.back().header; }  // of the last
    std::uint64_t bytes() const { return files_.back().text.size(); }     // of it that count
    std::optional<JournalRecord> next();
    [[noreturn]] void fail(const std::string& why) const;  // about the record that came last

private:
    struct File {
        JournalHeader header;
        std::string text;
        std::size_t begin = 0;  // of the records
    };
    static std::optional<File> read_file_of(const std::filesystem::path& file);
    static std::size_t whole_frames(const File& file);  // how far they go

    std::filesystem::path folder_;
    std::vector<File> files_;
    std::size_t part_ = 0;
    std::size_t at_ = 0;
    std::uint64_t records_ = 0;
};

// The run and the last term that a folder's journals tell of.
std::optional<JournalHeader> last_journal(const std::filesystem::path& folder);

void remove_journals(const std::filesystem::path& folder);

}  // namespace ukemi::runtime
