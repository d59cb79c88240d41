// agent.cpp — `ukemi agent`: lends this machine to live runs, for as long as it is there.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "cli/agent_options.hpp"
#include "cli/command.hpp"
#include "cli/notice_options.hpp"
#include "cli/stop_signals.hpp"
#include "runtime/agent_secret.hpp"
#include "runtime/notices/notice_watch.hpp"

namespace ukemi::cli {

namespace {

constexpr int slots_max = 256;
constexpr std::size_t coordinators_max = 16;

struct AgentOptions {
    std::string join;
    std::string rendezvous;
    std::filesystem::path redis_password_file;
    std::filesystem::path secret_file;
    std::string name;
    std::string notices;
    int slots = 1;
    double join_within_s = 60;
    double stop_within_s = 30;
    bool stay = false;
    bool trusted_network = false;
    std::string python;
};

std::chrono::milliseconds milliseconds_of(double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

// Where the coordinator is by a Redis; what is there and no address is nobody's.
std::function<std::optional<SocketAddress>()> finder(runtime::RedisPlace place) {
    return [place = std::move(place)]() -> std::optional<SocketAddress> {
        const auto leader = runtime::RedisLease::leader(place);
        return leader ? SocketAddress::of_text(leader->address) : std::nullopt;
    };
}

void run_as_agent(const AgentOptions& options) {
    if (options.join.empty() && options.rendezvous.empty()) {
        throw InputError("--join", "", "expected it, or --rendezvous");
    }
    std::vector<SocketAddress> coordinators;
    if (!options.join.empty()) coordinators = agent_addresses(options.join, "--join");
    auto sources = sources_in(options.notices);
    runtime::AgentSetup setup =
        agent_setup(std::move(coordinators), runtime::read_agent_secret(options.secret_file));
    if (!options.rendezvous.empty()) {
        setup.find =
            finder(place_of(options.rendezvous, options.redis_password_file, setup.secret));
    }
    if (!options.name.empty()) setup.name = options.name;
    setup.slots = options.slots;
    setup.join_within = milliseconds_of(options.join_within_s);
    setup.stop_within = milliseconds_of(options.stop_within_s);
    setup.stays = options.stay;
    setup.trusts_network = options.trusted_network;
    if (!options.python.empty()) setup.python = options.python;
    runtime::NoticeWatch notices(std::move(sources));
    setup.host_loss = [&notices] { return notices.loss(); };
    be_agent(setup);
}

}  // namespace

SocketAddress agent_address(std::string_view text, std::string_view where) {
    const auto address = SocketAddress::of_text(text);
    if (address && !address->is_any() && address->port() != 0) return *address;
    throw InputError(std::string(where), "",
                     fmt::format("expected an address in numbers and a port, as in "
                                 "10.0.0.1:7421, found \"{}\"",
                                 text));
}

std::vector<SocketAddress> agent_addresses(std::string_view text, std::string_view where) {
    std::vector<SocketAddress> addresses;
    for (std::string_view left = text;;) {
        addresses.push_back(agent_address(left.substr(0, left.find(',')), where));
        if (left.find(',') == std::string_view::npos) return addresses;
        if (addresses.size() == coordinators_max) {
            throw InputError(std::string(where), "",
                             fmt::format("expected at most {} addresses", coordinators_max));
        }
        left.remove_prefix(left.find(',') + 1);
    }
}

runtime::RedisPlace place_of(const std::string& rendezvous,
                             const std::filesystem::path& password_file,
                             const runtime::Secret& agents) {
    return runtime::redis_place(rendezvous, runtime::read_redis_password(password_file), agents,
                                "--rendezvous");
}

runtime::AgentSetup agent_setup(std::vector<SocketAddress> coordinators,
                                const runtime::Secret& secret) {
    runtime::AgentSetup setup;
    setup.coordinators = std::move(coordinators);
    setup.secret = secret;
    setup.name = runtime::agent_name_of_host();
    setup.worker_program = std::filesystem::read_symlink("/proc/self/exe");
    setup.stop_requests = &watch_stop_signals(SecondSignal::counts);
    setup.say = [](const std::string& what) {
        std::fputs(fmt::format("ukemi agent: {}\n", what).c_str(), stderr);
    };
    return setup;
}

void be_agent(const runtime::AgentSetup& setup) {
    if (runtime::run_agent(setup) == runtime::AgentEnd::no_coordinator) {
        throw ExitWith{exit_machine_failed};
    }
}

int own_rank() {
    for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
        const char* const value = std::getenv(name);
        if (value == nullptr) continue;
        const std::string_view digits(value);
        const char* const last = digits.data() + digits.size();
        int rank = -1;
        const auto [end, error] = std::from_chars(digits.data(), last, rank);
        if (error == std::errc() && end == last && rank >= 0) return rank;
        throw InputError(name, "", fmt::format("expected a rank, found \"{}\"", digits));
    }
    throw InputError("--ranks", "",
                     "expected to be started by mpirun or srun: neither OMPI_COMM_WORLD_RANK nor "
                     "PMI_RANK nor SLURM_PROCID is set");
}

void add_agent(CLI::App& app) {
    auto options = std::make_shared<AgentOptions>();
    CLI::App* command = app.add_subcommand(
        "agent",
        "lend this machine to a live run: joins `ukemi train --agents`, and starts and ends "
        "workers for it");
    command->add_option(
        "--join", options->join,
        "ADDRESS:PORT of the run's coordinator, in numbers; several, where another one may take "
        "the run over, as in 10.0.0.1:7421,10.0.0.2:7421");
    command->add_option("--rendezvous", options->rendezvous,
                        "redis:HOST:PORT, in numbers, where the coordinator says where it is");
    command->add_option("--redis-password-file", options->redis_password_file,
                        "that Redis's password, in a file of mode 0600 (default: what the "
                        "variable UKEMI_REDIS_PASSWORD holds, or none)");
    command->add_option("--secret-file", options->secret_file,
                        "the run's secret for its agents, in a file of mode 0600 (default: what "
                        "the variable UKEMI_AGENT_SECRET holds)");
    command->add_option("--slots", options->slots, "workers at once (default: 1)")
        ->check(CLI::Range(1, slots_max));
    command
        ->add_option("--name", options->name,
                     "as the run's log calls this machine (default: the host's name)")
        ->check([](const std::string& name) {
            return std::string(name.empty() || name.size() > 40 ? "expected 1 to 40 characters"
                                                                : "");
        });
    command->add_option("--notices", options->notices,
                        "who announces that this machine will be taken: the run is told, and its "
                        "policies are asked (ukemi list notices)");
    command
        ->add_option("--join-within", options->join_within_s,
                     "seconds for which it tries while nobody lets it in, at the beginning and "
                     "when its coordinator is gone (default: 60)")
        ->check(CLI::Range(0.0, 1e7));
    command
        ->add_option("--stop-within", options->stop_within_s,
                     "SIGTERM and SIGINT are a notice that this machine goes in so many seconds; "
                     "a second SIGINT kills the workers at once (default: 30)")
        ->check(CLI::Range(0.0, 86'400.0));
    CLI::Option* trust = command->add_flag(
        "--trusted-network", options->trusted_network,
        "let the run have workers that do not encrypt what they send each other, and workers of "
        "its script (PyTorch), which do what the script likes");
    command
        ->add_option("--python", options->python,
                     "what runs a script's workers here (default: python3)")
        ->needs(trust);
    command->add_flag("--stay", options->stay, "when a run is over, wait for the next one");
    command->callback([options] { run_as_agent(*options); });
}

}  // namespace ukemi::cli
