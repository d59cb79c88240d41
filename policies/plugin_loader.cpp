#include "policies/plugin_loader.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <string>

#include "base/input_error.hpp"
#include "policies/plugin.hpp"

namespace ukemi::policies {

namespace {

namespace fs = std::filesystem;

bool are_allowed = false;

struct Loaded {
    PolicyPluginFunction* function = nullptr;
    std::string problem;
};

// What it had to say: "undefined symbol: …", "invalid ELF header".
std::string loader_problem() {
    const char* const text = dlerror();
    return text == nullptr ? "cannot be loaded" : text;
}

Loaded open_library(const fs::path& library) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return {nullptr, loader_problem()};
    void* const symbol = dlsym(handle, policy_plugin_function);
    if (symbol == nullptr) {
        return {nullptr, std::string("has no function ") + policy_plugin_function +
                             " (UKEMI_POLICIES of policies/plugin.hpp makes it)"};
    }
    return {reinterpret_cast<PolicyPluginFunction*>(symbol), ""};
}

// Objects of a library that crash, exit or hang as they are made do so in a process of their own.
std::string problem_in_trial(const fs::path& library) {
    constexpr unsigned longest_s = 10;
    constexpr int came_through = 17;  // unlike what a library may end with
    const pid_t child = fork();
    if (child == -1) return "";
    if (child == 0) {
        alarm(longest_s);
        const Loaded loaded = open_library(library);
        if (loaded.function != nullptr) loaded.function();
        _exit(came_through);
    }
    int status = 0;
    while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        return "takes more than 10 s to load";
    }
    if (WIFSIGNALED(status)) {
        return std::string("crashes as it is loaded (") + strsignal(WTERMSIG(status)) + ")";
    }
    if (WEXITSTATUS(status) != came_through) return "ends the program as it is loaded";
    return "";
}

std::string problem_of(const PolicyPlugin& plugin) {
    if (plugin.abi != plugin_abi) {
        return std::string("was built against another interface than this program's (by ") +
               (plugin.abi == 0 ? "nobody" : plugin.compiler) +
               "): build it anew with the headers of this ukemi";
    }
    for (std::size_t i = 0; i < plugin.count; ++i) {
        const PolicyEntry& entry = plugin.entries[i];
        if (entry.name.empty() || entry.make == nullptr) return "has a policy without name or make";
        for (const std::string_view name : {entry.name, entry.alias}) {
            if (!name.empty() && find_policy(name) != nullptr) {
                return "has a policy \"" + std::string(name) + "\", and there is one already";
            }
        }
    }
    return plugin.count == 0 ? "has no policies" : "";
}

}  // namespace

void allow_plugins() { are_allowed = true; }

void load_plugin(const fs::path& library, std::string_view place) {
    static std::set<fs::path> loaded;
    const auto refuse = [&](const std::string& problem) {
        throw InputError(place, "", library.string() + ": " + problem);
    };
    if (!are_allowed) {
        refuse(
            "is a library of code, which would run with your rights: if you trust it, say "
            "ukemi --allow-plugins COMMAND …");
    }
    std::error_code none;
    const fs::path file = fs::canonical(library, none);
    if (none) refuse("cannot be opened: " + none.message());
    if (loaded.contains(file)) return;
    if (const std::string problem = problem_in_trial(file); !problem.empty()) refuse(problem);
    const Loaded opened = open_library(file);
    if (opened.function == nullptr) refuse(opened.problem);
    const PolicyPlugin* const plugin = opened.function();
    if (plugin == nullptr) refuse("has no policies");
    if (const std::string problem = problem_of(*plugin); !problem.empty()) refuse(problem);
    add_policies({plugin->entries, plugin->count});
    loaded.insert(file);
}

}  // namespace ukemi::policies
