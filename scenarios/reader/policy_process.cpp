#include "scenarios/reader/policy_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/input_error.hpp"
#include "base/plugin_library.hpp"
#include "base/unit_text.hpp"
#include "policies/foreign_policy.hpp"
#include "policies/registry.hpp"
#include "records/plan_json.hpp"

namespace ukemi::scenarios {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using policies::Decision;
using policies::EventKind;
using policies::Hook;
using policies::PolicyView;

constexpr std::chrono::seconds start_most{60};  // whatever the file imports
constexpr std::chrono::seconds answer_most{5};  // a live run waits meanwhile
constexpr std::size_t line_bytes_most = 16U << 20U;

std::string python_program() {
    const char* const named = std::getenv("UKEMI_PYTHON");
    return named == nullptr || *named == '\0' ? "python3" : named;
}

// What went wrong between the two processes; the caller says where.
class NoAnswer : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The process and what is said to it: a line each way.
class PolicyProcess {
public:
    explicit PolicyProcess(fs::path file) : file_(std::move(file)) {
        int ends[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            throw std::system_error(errno, std::generic_category(), "socketpair");
        }
        socket_ = FileDescriptor(ends[0]);
        const FileDescriptor theirs(ends[1]);
        start(theirs.get());
    }
    ~PolicyProcess() { end(); }
    PolicyProcess(const PolicyProcess&) = delete;
    PolicyProcess& operator=(const PolicyProcess&) = delete;

    const fs::path& file() const { return file_; }
    std::mutex& mutex() { return mutex_; }  // held from a question to its answer
    std::int64_t next_number() { return ++numbers_; }

    void say(const json& record) {
        const std::string line = record.dump() + "\n";
        for (std::size_t sent = 0; sent < line.size();) {
            const ssize_t count =
                ::send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) throw NoAnswer("its process has ended");
            sent += static_cast<std::size_t>(count);
        }
    }

    json take(std::chrono::seconds most) {
        const auto until = std::chrono::steady_clock::now() + most;
        std::size_t end = unread_.find('\n');
        while (end == std::string::npos) {
            const std::size_t had = unread_.size();
            receive(until, most);
            end = unread_.find('\n', had);
        }
        const std::string line = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        json record = json::parse(line, nullptr, false);
        if (!record.is_object() || !record.contains("record")) {
            this->end();
            throw NoAnswer("said what cannot be read");
        }
        return record;
    }

private:
    void start(int their_end) {
        const std::string python = python_program();
        std::array<std::string, 4> words{python, "-m", "ukemi.policy_process", file_.string()};
        std::vector<char*> pointers;
        for (std::string& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, their_end, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        // The terminal's Ctrl-C is for the run, which may still have to ask what to do.
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        const int problem = ::posix_spawnp(&process_, python.c_str(), &actions, &attributes,
                                           pointers.data(), environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        if (problem == 0) return;
        process_ = -1;
        throw NoAnswer(fmt::format("there is no program {} (UKEMI_PYTHON names another): {}",
                                   python, std::generic_category().message(problem)));
    }

    void receive(std::chrono::steady_clock::time_point until, std::chrono::seconds most) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now());
        pollfd watched{socket_.get(), POLLIN, 0};
        const int ready =
            left.count() < 0 ? 0 : ::poll(&watched, 1, static_cast<int>(left.count()));
        if (ready < 0 && errno == EINTR) return;
        if (ready == 0) {
            end();
            throw NoAnswer(fmt::format("gave no answer within {} s", most.count()));
        }
        std::array<char, 65536> chunk;
        const ssize_t count = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
        if (count < 0 && errno == EINTR) return;
        if (count <= 0 || unread_.size() > line_bytes_most) {
            end();
            throw NoAnswer("its process has ended");
        }
        unread_.append(chunk.data(), static_cast<std::size_t>(count));
    }

    void end() {
        socket_.reset();
        if (process_ < 0) return;
        ::kill(process_, SIGKILL);
        while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
        }
        process_ = -1;
    }

    fs::path file_;
    std::mutex mutex_;
    FileDescriptor socket_;
    pid_t process_ = -1;
    std::string unread_;
    std::int64_t numbers_ = 0;
};

template <class Set, class Kind>
Set set_of(const json& names, std::span<const std::string_view> known) {
    Set set;
    for (const json& name : names) {
        const auto found = std::ranges::find(known, name.get<std::string>());
        if (found == known.end()) {
            throw std::invalid_argument(fmt::format("there is no {}", name.dump()));
        }
        set = set | Set{static_cast<Kind>(found - known.begin())};
    }
    return set;
}

// What a policy may ask while it is asked.
json answer_of(const json& asked, const PolicyView& view) {
    const auto plan = [&](const char* key) { return records::plan_from(asked.at(key)); };
    const std::string what = asked.at("what").get<std::string>();
    if (what == "uniform") return view.random.uniform();
    if (what == "loses_work") return view.predictor.loses_work();
    if (what == "checkpoint_time_ns") return view.predictor.checkpoint_time(plan("plan")).raw();
    if (what == "restore_time_ns") return view.predictor.restore_time(plan("plan")).raw();
    if (what == "transition_time_ns") {
        return view.predictor.transition_time(plan("before"), plan("after")).raw();
    }
    if (what == "integer") {
        const auto least = asked.at("least").get<std::int64_t>();
        const auto most = asked.at("most").get<std::int64_t>();
        if (least <= most) return view.random.integer(least, most);
    }
    if (what == "work_time_ns") {
        const auto samples = asked.at("samples").get<std::int64_t>();
        const auto workers = asked.at("workers").get<std::int32_t>();
        if (samples >= 0 && workers >= 1) {
            return view.predictor.work_time(samples, plan("plan"), workers).raw();
        }
    }
    throw std::invalid_argument(fmt::format("asks what cannot be answered: {}", asked.dump()));
}

policies::PolicyTraits traits_of(const json& made) {
    policies::PolicyTraits traits;
    traits.knobs =
        set_of<policies::KnobSet, policies::Knob>(made.at("knobs"), policies::knob_names());
    traits.hooks = set_of<policies::HookSet, Hook>(made.at("hooks"), policies::hook_names());
    traits.every_steps = made.at("every_steps").get<std::int64_t>();
    traits.looks_at_ages = made.at("looks_at_ages").get<bool>();
    traits.looks_at_workers = made.at("looks_at_workers").get<bool>();
    traits.looks_at_links = made.at("looks_at_links").get<bool>();
    return traits;
}

class ProcessPolicy final : public policies::ForeignPolicy {
public:
    ProcessPolicy(std::string_view name, PolicyProcess& process, std::int64_t number,
                  const json& made)
        : ForeignPolicy(name, traits_of(made)), process_(&process), number_(number) {}
    ~ProcessPolicy() override {
        try {
            const std::scoped_lock lock(process_->mutex());
            process_->say({{"record", "forget"}, {"policy", number_}});
        } catch (const std::exception&) {  // it has ended, and so has what it knew
        }
    }

private:
    Decision ask(Hook hook, const PolicyView& view, EventKind kind) override {
        try {
            return answered(hook, view, kind);
        } catch (const NoAnswer& problem) {
            fail(hook, kind, view, problem.what());
        } catch (const json::exception& problem) {
            fail(hook, kind, view, problem.what());
        } catch (const std::invalid_argument& problem) {
            fail(hook, kind, view, problem.what());
        }
    }

    Decision answered(Hook hook, const PolicyView& view, EventKind kind) {
        const std::scoped_lock lock(process_->mutex());
        process_->say({{"record", "question"},
                       {"policy", number_},
                       {"hook", policies::hook_names()[static_cast<std::size_t>(hook)]},
                       {"kind", policies::event_kind_names()[static_cast<std::size_t>(kind)]},
                       {"seen", records::to_json(view.seen)},
                       {"plan", records::to_json(view.plan)},
                       {"instances_max", view.instances_max},
                       {"samples_per_epoch", view.samples_per_epoch}});
        for (;;) {
            const json said = process_->take(answer_most);
            const std::string record = said.at("record").get<std::string>();
            if (record == "asks") {
                process_->say({{"record", "told"}, {"value", answer_of(said, view)}});
            } else if (record == "raised") {
                throw NoAnswer(said.at("why").get<std::string>());
            } else {
                return decision_of(said.at("decision"));
            }
        }
    }

    Decision decision_of(const json& said) const {
        Decision decision = records::decision_from(said);
        if (said.contains("reason"))
            decision.reason = policies::lasting_reason(said.at("reason").get<std::string>());
        expect_own_knobs(decision);
        return decision;
    }

    [[noreturn]] void fail(Hook hook, EventKind kind, const PolicyView& view,
                           std::string_view why) const {
        throw InputError(process_->file().string(), "",
                         fmt::format("{}: {}", question_text(hook, view, kind), why));
    }

    PolicyProcess* process_;
    std::int64_t number_;
};

// ---- the registry ------------------------------------------------------------------------------

struct PolicyOfFile {
    std::string name;
    std::string summary;
    std::string short_parameter;
    PolicyProcess* process = nullptr;
    policies::PolicyEntry entry = {};
};

// Processes end with the program; entries stay, for the registry points to them.
std::deque<std::unique_ptr<PolicyProcess>>& processes() {
    static std::deque<std::unique_ptr<PolicyProcess>> all;
    return all;
}
std::deque<PolicyOfFile>& policies_of_files() {
    static auto* const all = new std::deque<PolicyOfFile>;
    return *all;
}

std::unique_ptr<policies::Policy> make_process_policy(const policies::PolicyEntry& entry,
                                                      ConfigReader& parameters) {
    const auto own = std::ranges::find(policies_of_files(), entry.name, &PolicyOfFile::name);
    PolicyProcess& process = *own->process;
    json settings = json::parse(parameters.object_text());
    settings.erase("name");
    try {
        std::unique_lock lock(process.mutex());
        const std::int64_t number = process.next_number();
        process.say({{"record", "make"},
                     {"policy", number},
                     {"name", entry.name},
                     {"parameters", settings}});
        const json made = process.take(answer_most);
        lock.unlock();
        if (made.at("record") == "raised") throw NoAnswer(made.at("why").get<std::string>());
        return std::make_unique<ProcessPolicy>(entry.name, process, number, made);
    } catch (const NoAnswer& problem) {
        parameters.fail("", fmt::format("policy \"{}\": {}", entry.name, problem.what()));
    } catch (const json::exception& problem) {
        parameters.fail("", fmt::format("policy \"{}\": {}", entry.name, problem.what()));
    } catch (const std::invalid_argument& problem) {
        parameters.fail("", fmt::format("policy \"{}\": {}", entry.name, problem.what()));
    }
}

void add_policy_of(PolicyProcess& process, const json& said) {
    const std::string name = said.at("name").get<std::string>();
    if (policies::find_policy(name) != nullptr) {
        throw NoAnswer(fmt::format("has a policy \"{}\", and there is one already", name));
    }
    PolicyOfFile& one = policies_of_files().emplace_back(PolicyOfFile{
        name, said.at("summary").get<std::string>(), said.value("short_parameter", ""), &process});
    one.entry.name = one.name;
    one.entry.summary = one.summary;
    one.entry.source = "Python";
    one.entry.short_parameter = one.short_parameter;
    one.entry.make = nullptr;
    one.entry.make_from = make_process_policy;
    one.entry.needs_deadline = said.at("needs_deadline").get<bool>();
    policies::add_policies(std::span(&one.entry, 1));
}

void ask_for_policies(PolicyProcess& process) {
    json said;
    try {
        said = process.take(start_most);
    } catch (const NoAnswer& problem) {
        throw NoAnswer(
            fmt::format("{} before it said what policies there are: is the module ukemi "
                        "installed for {}? (UKEMI_PYTHON names another Python)",
                        problem.what(), python_program()));
    }
    if (said.at("record") == "raised") throw NoAnswer(said.at("why").get<std::string>());
    const json& list = said.at("policies");
    if (list.empty()) throw NoAnswer("has no class derived from ukemi.Policy");
    for (const json& one : list) add_policy_of(process, one);
}

}  // namespace

void load_policy_file(const fs::path& file, std::string_view place) {
    if (!plugins_are_allowed()) {
        throw InputError(place, "",
                         fmt::format("{}: is Python, which would run with your rights: if you "
                                     "trust it, say ukemi --allow-plugins COMMAND …",
                                     file.string()));
    }
    std::error_code none;
    const fs::path found = fs::canonical(file, none);
    const auto is_there = [&](const auto& process) { return process->file() == found; };
    if (!none && std::ranges::any_of(processes(), is_there)) return;
    try {
        if (none) throw NoAnswer("cannot be opened: " + none.message());
        processes().push_back(std::make_unique<PolicyProcess>(found));
        ask_for_policies(*processes().back());
    } catch (const NoAnswer& problem) {
        throw InputError(place, "", fmt::format("{}: {}", file.string(), problem.what()));
    } catch (const json::exception& problem) {
        throw InputError(place, "", fmt::format("{}: {}", file.string(), problem.what()));
    }
}

}  // namespace ukemi::scenarios
