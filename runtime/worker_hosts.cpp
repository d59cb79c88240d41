#include "runtime/worker_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/input_error.hpp"
#include "base/shell_word.hpp"

namespace ukemi::runtime {

namespace {

constexpr int slots_max = 256;

// A name that begins with a dash would be an option of the remote shell.
bool is_host_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("._@-").find(c) != std::string_view::npos;
    };
    return !name.empty() && name.front() != '-' && std::ranges::all_of(name, fits);
}

}  // namespace

std::vector<WorkerHost> parse_hosts(std::string_view text, std::string_view where) {
    std::vector<WorkerHost> hosts;
    std::set<std::string> names;
    while (true) {
        const std::string_view one = text.substr(0, text.find(','));
        const std::size_t colon = one.find(':');
        WorkerHost host{std::string(one.substr(0, colon)), 1};
        bool fits = is_host_name(host.name);
        if (colon != std::string_view::npos) {
            const char* const end = one.data() + one.size();
            const auto [last, error] = std::from_chars(one.data() + colon + 1, end, host.slots);
            fits = fits && error == std::errc() && last == end;
        }
        if (!fits || host.slots < 1 || host.slots > slots_max) {
            throw InputError(std::string(where), "",
                             fmt::format("expected hosts with how many workers each may hold, as "
                                         "in a:4,b:4, found \"{}\"",
                                         one));
        }
        if (!names.insert(host.name).second) {
            throw InputError(std::string(where), "",
                             fmt::format("\"{}\" is there twice", host.name));
        }
        hosts.push_back(std::move(host));
        if (one.size() == text.size()) return hosts;
        text.remove_prefix(one.size() + 1);
    }
}

int slots_of(const std::vector<WorkerHost>& hosts) {
    int slots = 0;
    for (const WorkerHost& host : hosts) slots += host.slots;
    return slots;
}

std::vector<std::string> remote_command(const RemoteStart& start, const WorkerHost& host,
                                        const std::vector<std::string>& worker_arguments) {
    std::vector<std::string> there{start.program};
    there.insert(there.end(), worker_arguments.begin(), worker_arguments.end());
    there.emplace_back("--read-invitation");
    std::vector<std::string> words = start.shell;
    words.push_back(host.name);
    words.push_back(shell_line(there));
    return words;
}

}  // namespace ukemi::runtime
