// plugin_test.cpp — policies and trace forms in libraries of their own: from an installed ukemi and
// the folders that `ukemi init` writes to runs beside others, and what is refused.
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

// The folder that init wrote, built against the installed copy and tested.
void build_source_folder(const fs::path& own, const fs::path& installed) {
    run_tool(own, UKEMI_CMAKE,
             {"-S", ".", "-B", "build", "-DCMAKE_PREFIX_PATH=" + installed.string(),
              "-DCMAKE_CXX_COMPILER=" UKEMI_COMPILER,
              "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror"});
    run_tool(own, UKEMI_CMAKE, {"--build", "build", "--parallel", "2"});
    run_tool(own / "build", UKEMI_CTEST, {});
}

// A record that no form of ours knows.
void use_own_form(const fs::path& folder, const std::string& ukemi) {
    run_tool(folder, ukemi.c_str(), {"init", "trace-form", "my_log"});
    const fs::path own = folder / "my_log";
    CHECK(names_in(own) == Names{"CMakeLists.txt", "README.md", "my_log.cpp", "my_log.json",
                                 "my_log.log", "my_log_test.cpp"});
    build_source_folder(own, folder / "installed");
    const std::string library = "build/my_log.so";
    const Ran unknown = run_program(ukemi.c_str(), own, {"describe", "my_log.log"});
    CHECK(unknown.code == 2);
    CHECK(is_one_line(unknown.err));
    const Ran described =
        run_tool(own, ukemi.c_str(), {"--plugin", library, "describe", "my_log.log", "--json"});
    const auto series = nlohmann::json::parse(described.out).at("series").at(0);
    CHECK(series.at("length_h") == 168);
    CHECK(series.at("loss_events") == 3);
    const Ran listed = run_tool(own, ukemi.c_str(), {"--plugin", library, "list", "traces"});
    CHECK_THAT(listed.out, Catch::Contains("our own log: minutes"));
    // What is wrong in it is said at its place.
    write_file(own / "bad.log", "my_log v1\n0 free 1\n60 free one\n");
    const Ran bad = run_program(ukemi.c_str(), own, {"--plugin", library, "describe", "bad.log"});
    CHECK(bad.code == 2);
    CHECK(bad.err ==
          "ukemi: bad.log:3:9: expected a whole number from 0 to 1000000, found \"one\"\n");

    // A scenario names the library, and the plain form that is imported is read without it.
    CHECK(run_program(ukemi.c_str(), own, {"check", "my_log.json"}).code == 2);
    const Ran by_library = run_tool(
        own, ukemi.c_str(), {"--allow-plugins", "replay", "my_log.json", "--no-files", "--json"});
    run_tool(own, ukemi.c_str(), {"--plugin", library, "import", "my_log.log", "--out", "plain"});
    const Names plain = names_in(own / "plain");
    REQUIRE(plain.size() == 1);
    std::string text = text_in(own / "my_log.json");
    text.replace(text.find("my_log.log"), 10, "plain/" + *plain.begin());
    text.erase(text.find("\"plugins\""), std::string("\"plugins\": [\"build/my_log.so\"],").size());
    write_file(own / "plain.json", text);
    const Ran by_import =
        run_tool(own, ukemi.c_str(), {"replay", "plain.json", "--no-files", "--json"});
    const auto cost_of = [](const Ran& ran) {
        std::vector<double> usd;
        const auto document = nlohmann::json::parse(ran.out);
        for (const auto& one : document.at("runs")) {
            usd.push_back(one.at("cost_usd").get<double>());
        }
        return usd;
    };
    CHECK(cost_of(by_library).size() == 6);  // two windows of the record
    CHECK(cost_of(by_library) == cost_of(by_import));
    CHECK(run_program(ukemi.c_str(), folder, {"init", "trace-form", "skynomad_csv"}).code == 2);
}

// What is said of a library of this source, in one line.
std::string complaint_about(const fs::path& folder, const std::string& source,
                            std::vector<std::string> command = {"list", "policies"}) {
    write_file(folder / "plugin.cpp", source);
    run_tool(folder, UKEMI_COMPILER,
             {"-std=gnu++20", "-shared", "-fPIC", "-I", UKEMI_SOURCE_DIR, "plugin.cpp", "-o",
              "plugin.so"});
    command.insert(command.begin(), {"--plugin", "./plugin.so"});
    const Ran ran = run_ukemi(folder, command);
    CHECK(ran.code == 2);
    CHECK(is_one_line(ran.err));
    return ran.err;
}

}  // namespace

TEST_CASE("ukemi init: plug-ins built, tested and run outside the tree, from an installed copy",
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
    build_source_folder(own, folder / "installed");

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
    use_own_form(folder, ukemi);
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

    const std::string form_begin =
        "#include \"traces/plugin.hpp\"\n#include \"traces/series_builder.hpp\"\n"
        "using namespace ukemi;\nusing namespace ukemi::traces;\n"
        "static bool all(std::string_view, const std::filesystem::path&) { return true; }\n"
        "static Trace read(std::string_view, const std::filesystem::path&, const ReadOptions&) {\n"
        "    Trace trace;\n";
    const auto form_complaint = [&](const std::string& reading, const char* name) {
        return complaint_about(
            scratch.path(),
            form_begin + reading + "    return trace;\n}\n" +
                fmt::format("UKEMI_TRACE_FORMS({{\"{}\", \"s\", all, read}})\n", name),
            {"describe", "plugin.cpp"});
    };
    CHECK_THAT(form_complaint("", "skynomad_csv"),
               Catch::Contains("has a trace form \"skynomad_csv\", and there is one already"));
    CHECK_THAT(form_complaint("", ""),
               Catch::Contains("has a trace form without name, recognises or read"));
    CHECK_THAT(form_complaint("", "mine"),
               Catch::Contains("plugin.cpp: the reader of \"mine\" (a plug-in) gives nothing"));
    CHECK_THAT(form_complaint("    trace.series.emplace_back().availability.emplace().steps = "
                              "{{Instant{}, 1}, {Instant{}, 2}};\n",
                              "mine"),
               Catch::Contains("gives a series that goes back in time"));

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
