// plugin_test.cpp — policies in libraries of their own: from an installed ukemi and the folder that
// `ukemi init policy` writes to a run beside others, and what is refused.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "policies/plugin.hpp"
#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

Ran run_tool(const fs::path& folder, const char* tool, std::vector<std::string> arguments) {
    Ran ran = run_program(tool, folder, std::move(arguments));
    INFO(ran.out << ran.err);
    REQUIRE(ran.code == 0);
    return ran;
}

bool is_sanitized() {
#ifdef UKEMI_SANITIZED
    WARN("skipped: sanitizers: a library is built without them");
    return true;
#else
    return false;
#endif
}

// What is said of a library of this source, in one line.
std::string complaint_about(const fs::path& folder, const std::string& source) {
    write_file(folder / "plugin.cpp", source);
    run_tool(folder, UKEMI_COMPILER,
             {"-std=gnu++20", "-shared", "-fPIC", "-I", UKEMI_SOURCE_DIR, "plugin.cpp", "-o",
              "plugin.so"});
    const Ran ran = run_ukemi(folder, {"--plugin", "./plugin.so", "list", "policies"});
    CHECK(ran.code == 2);
    CHECK(is_one_line(ran.err));
    return ran.err;
}

}  // namespace

TEST_CASE("ukemi init policy: built, tested and run outside the tree, from an installed copy",
          "[cli][plugin]") {
    if (is_sanitized()) return;
    const ScratchFolder scratch;
    const fs::path& folder = scratch.path();
    run_tool(folder, UKEMI_CMAKE, {"--install", UKEMI_BUILD_DIR, "--prefix", "installed"});
    for (const char* const file :
         {"share/man/man1/ukemi-replay-log.1", "share/man/man1/ukemi.1",
          "share/bash-completion/completions/ukemi", "share/zsh/site-functions/_ukemi"}) {
        CHECK(fs::file_size(folder / "installed" / file) > 0);
    }
    const std::string ukemi = (folder / "installed/bin/ukemi").string();
    run_tool(folder, ukemi.c_str(), {"init", "policy", "my_rule"});
    CHECK(names_in(folder / "my_rule") ==
          Names{"CMakeLists.txt", "README.md", "my_rule.cpp", "my_rule.json", "my_rule_test.cpp"});
    const fs::path own = folder / "my_rule";
    run_tool(own, UKEMI_CMAKE,
             {"-S", ".", "-B", "build", "-DCMAKE_PREFIX_PATH=" + (folder / "installed").string(),
              "-DCMAKE_CXX_COMPILER=" UKEMI_COMPILER,
              "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror"});
    run_tool(own, UKEMI_CMAKE, {"--build", "build", "--parallel", "2"});
    run_tool(own / "build", UKEMI_CTEST, {});

    // Only where the command line says so.
    const Ran refused = run_program(ukemi.c_str(), own, {"check", "my_rule.json"});
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err,
               Catch::Contains("at /plugins/0: build/my_rule.so: is a library of code") &&
                   Catch::Contains("--allow-plugins"));
    const Ran ran = run_tool(own, ukemi.c_str(),
                             {"--allow-plugins", "replay", "my_rule.json", "--seeds", "1..3",
                              "--baseline", "greedy+daly", "--json"});
    std::set<std::string> policies;
    const auto document = nlohmann::json::parse(ran.out);
    for (const auto& row : document.at("policies")) {
        policies.insert(row.at("policy").get<std::string>());
    }
    CHECK(policies.contains("my_rule+daly"));
    CHECK(policies.size() == 4);
    // By its name in any scenario, and with its parameters.
    run_tool(
        own, ukemi.c_str(),
        {"--plugin", "build/my_rule.so", "replay", "demo", "--policies", "my_rule:1h,on_demand"});
    const Ran listed = run_tool(own, ukemi.c_str(),
                                {"--plugin", "build/my_rule.so", "list", "policies", "my_rule"});
    CHECK_THAT(listed.out, Catch::Contains("patience"));
    const Ran unknown =
        run_program(ukemi.c_str(), own, {"replay", "demo", "--policies", "my_rule"});
    CHECK(unknown.code == 2);

    const Ran again = run_program(ukemi.c_str(), folder, {"init", "policy", "my_rule"});
    CHECK(again.err == "ukemi: my_rule: is there already\n");
    for (const char* name : {"greedy", "My", "", "9", "test", "a-b"}) {
        const Ran bad = run_program(ukemi.c_str(), folder, {"init", "policy", name});
        CHECK(bad.code == 2);
        CHECK(is_one_line(bad.err));
    }
}

TEST_CASE("plug-ins: what cannot be loaded is refused with its reason", "[cli][plugin]") {
    if (is_sanitized()) return;
    const ScratchFolder scratch;
    const std::string begin =
        "#include \"policies/market/market_rule.hpp\"\n#include \"policies/plugin.hpp\"\n"
        "#include <cstdlib>\nusing namespace ukemi::policies;\n"
        "static std::unique_ptr<Policy> make(ukemi::ConfigReader&) { return nullptr; }\n";
    const auto entry = [](const char* name) {
        return fmt::format("UKEMI_POLICIES({{.name = \"{}\", .make = make}})\n", name);
    };
    const auto complaint = [&](const std::string& source) {
        return complaint_about(scratch.path(), begin + source);
    };
    CHECK_THAT(complaint(""),
               Catch::Contains("--plugin: ./plugin.so: has no function ukemi_policies"));
    CHECK_THAT(
        complaint("extern \"C\" const PolicyPlugin* ukemi_policies() {\n"
                  "    static const PolicyPlugin plugin{1, \"another compiler\"};\n"
                  "    return &plugin;\n}\n"),
        Catch::Contains("was built against another interface than this program's (by another "
                        "compiler)"));
    CHECK_THAT(complaint("void nowhere();\nstatic int now = (nowhere(), 1);\n" + entry("mine")),
               Catch::Contains("undefined symbol"));
    CHECK_THAT(complaint("static int now = (std::abort(), 1);\n" + entry("mine")),
               Catch::Contains("crashes as it is loaded (Aborted)"));
    CHECK_THAT(complaint("static int now = (std::_Exit(0), 1);\n" + entry("mine")),
               Catch::Contains("ends the program as it is loaded"));
    CHECK_THAT(complaint(entry("greedy")),
               Catch::Contains("has a policy \"greedy\", and there is one already"));
    CHECK_THAT(complaint("UKEMI_POLICIES({.name = \"\", .make = make})\n"),
               Catch::Contains("has a policy without name or make"));

    write_file(scratch / "text.so", "no library\n");
    for (const auto& [file, why] :
         {std::pair("text.so", "file too short"), std::pair("none.so", "No such file or directory"),
          std::pair(".", "read file data: Is a directory")}) {
        CAPTURE(file);
        const Ran ran = run_ukemi(scratch.path(), {"--plugin", file, "list", "policies"});
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::Contains(why));
    }
}

}  // namespace ukemi
