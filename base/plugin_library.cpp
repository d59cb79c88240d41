#include "base/plugin_library.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <vector>

#include "base/input_error.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

bool are_plugins_allowed = false;

struct FoundKind {
    const PluginKind* kind;
    void* function;
};
struct OpenedLibrary {
    std::vector<FoundKind> kinds;
    std::string problem;
};

// What it had to say: "undefined symbol: …", "invalid ELF header".
std::string loader_problem() {
    const char* const text = dlerror();
    return text == nullptr ? "cannot be loaded" : text;
}

OpenedLibrary open_library(const fs::path& library, std::span<const PluginKind> kinds) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return {{}, loader_problem()};
    OpenedLibrary opened;
    std::string names;
    for (const PluginKind& kind : kinds) {
        void* const symbol = dlsym(handle, kind.function);
        if (symbol != nullptr) opened.kinds.push_back({&kind, symbol});
        names += std::string(names.empty() ? "" : " and no ") + kind.function + " (" +
                 kind.made_by + " makes it)";
    }
    if (opened.kinds.empty()) opened.problem = "has no function " + names;
    return opened;
}

// Code of a library that crashes, exits or hangs as it is loaded does so in a process of its own.
std::string problem_in_trial(const fs::path& library, std::span<const PluginKind> kinds) {
    constexpr unsigned longest_s = 10;
    constexpr int came_through = 17;  // unlike what a library may end with
    const pid_t child = fork();
    if (child == -1) return "";
    if (child == 0) {
        alarm(longest_s);
        for (const FoundKind& found : open_library(library, kinds).kinds) {
            found.kind->take(found.function);
        }
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

}  // namespace

void allow_plugins() { are_plugins_allowed = true; }
bool plugins_are_allowed() { return are_plugins_allowed; }

void load_plugin_library(const fs::path& library, std::string_view place,
                         std::span<const PluginKind> kinds) {
    static std::set<fs::path> loaded;
    const auto refuse_if = [&](const std::string& problem) {
        if (!problem.empty()) throw InputError(place, "", library.string() + ": " + problem);
    };
    if (!are_plugins_allowed) {
        refuse_if(
            "is a library of code, which would run with your rights: if you trust it, say "
            "ukemi --allow-plugins COMMAND …");
    }
    std::error_code none;
    const fs::path file = fs::canonical(library, none);
    if (none) refuse_if("cannot be opened: " + none.message());
    if (loaded.contains(file)) return;
    refuse_if(problem_in_trial(file, kinds));
    const OpenedLibrary opened = open_library(file, kinds);
    refuse_if(opened.problem);
    for (const FoundKind& found : opened.kinds) refuse_if(found.kind->take(found.function));
    loaded.insert(file);
}

}  // namespace ukemi
