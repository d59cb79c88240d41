// tidy_rules_test.cpp — planted violations, so that we know the net has no hole.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/scratch_folder.hpp"
#include "tests/tidy/rules.hpp"

namespace ukemi::tidy {
namespace {

using Lines = std::vector<std::size_t>;

Lines lines_found(const Findings& findings) {
    Lines lines;
    for (const Finding& finding : findings) lines.push_back(finding.line);
    return lines;
}

std::string repeated(const char* line, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += line;
    return text;
}

// A function whose body has so many lines, after one line of something else.
std::string function_of(int lines, const std::string& opening, const std::string& closing = "}\n") {
    return "// first line\n" + opening + " {\n" + repeated("    f();\n", lines) + closing;
}

}  // namespace

TEST_CASE("tidy rules: comments, texts and directives are no code", "[tidy]") {
    CHECK(code_only("a // b\nc") == "a     \nc");
    CHECK(code_only("a /* b\n c */ d") == "a     \n      d");
    CHECK(code_only("f(\"{\\\"\", '{', '\\'')") == "f(\"   \", ' ', '  ')");
    CHECK(code_only("1'000'000 + 'x'") == "1'000'000 + ' '");
    CHECK(code_only("R\"(\"{)\" + b") == "R\"    \" + b");
    CHECK(code_only("R\"x(a)\")x\" + b") == "R\"       \" + b");
    CHECK(code_only("  #define A \\\n  {\nb") == "             \n   \nb");
    CHECK(code_only("\"never ends\nb") == "\"          \nb");
}

TEST_CASE("tidy rules: a line has at most 100 columns, a file 600 lines", "[tidy]") {
    const std::string wide(101, 'x');
    CHECK(lines_found(check_sizes({"sim/a.cpp", "\n" + wide + "\n"})) == Lines{2});
    CHECK(check_sizes({"sim/a.cpp", std::string(100, 'x')}).empty());
    CHECK(check_sizes({"a.md", wide}).empty());
    std::string umlauts;  // columns, not bytes
    for (int i = 0; i < 100; ++i) umlauts += "ü";
    CHECK(check_sizes({"sim/a.hpp", umlauts}).empty());
    CHECK(lines_found(check_sizes({"sim/a.cu", repeated("\n", 601)})) == Lines{601});
    CHECK(check_sizes({"sim/a.cu", repeated("\n", 600)}).empty());
}

TEST_CASE("tidy rules: a test that skips says so in the words that are counted", "[tidy]") {
    const auto said = [](const std::string& text) {
        return lines_found(check_skips({"tests/a_test.cpp", "\n    WARN(\"" + text + ");\n"}));
    };
    CHECK(said("skipped: gnuplot is not installed\"").empty());
    CHECK(said("left out: no recorded data: \" << place").empty());
    CHECK(said("off by \" << far").empty());
    CHECK(said("gnuplot is not installed: skipped\"") == Lines{2});
    CHECK(check_skips({"sim/a.cpp", "WARN(\"x: skipped\")"}).empty());
}

TEST_CASE("tidy rules: recorded data in the tree is small, and its README knows it", "[tidy]") {
    const SourceFile readme{"tests/data/README.md", "| `bamboo/` | … |\n"};
    CHECK(check_data(std::vector{readme, SourceFile{"tests/data/bamboo/a.csv", "1"},
                                 SourceFile{"tests/data/bamboo/b.csv", "1"}})
              .empty());
    CHECK(check_data(std::vector{readme, SourceFile{"tests/data/gavel/a.csv", "1"},
                                 SourceFile{"tests/data/gavel/b.csv", "1"}})
              .size() == 1);
    const SourceFile large{"tests/data/bamboo/a.csv", std::string(2'000'000, '1')};
    CHECK(check_data(std::vector{readme, large}).size() == 1);
}

TEST_CASE("tidy rules: a function has at most 70 lines, however it begins", "[tidy]") {
    const auto [opening, closing] = GENERATE(table<std::string, std::string>({
        {"void f()", "}\n"},
        {"static int f(int a,\n             int b)", "}\n"},
        {"TEST_CASE(\"a: b\", \"[c]\")", "}\n"},
        {"struct A f(int)", "}\n"},
        {"auto f() -> std::vector<int>", "}\n"},
        {"template <class T>\nvoid f(T t)", "}\n"},
        {"namespace a {\nvoid f() noexcept", "}\n}\n"},
        {"class A {\npublic:\n    void f() const", "}\n};\n"},
        {"class A {\nprivate:\n    class B {\n        void f()", "}\n};\n};\n"},
        {"struct A {\n    A() : a_(1), b_{2}", "}\n};\n"},
        {"struct A {\n    A()\n        : b_{{1, 2}}, a_(1)", "}\n};\n"},
        {"int table[] = {1, 2};\nvoid f()", "}\n"},
        {"enum class E { a, b };\nbool operator<(E, E)", "}\n"},
    }));
    CAPTURE(opening);
    CHECK(check_functions({"sim/a.cpp", function_of(70, opening, closing)}).empty());
    const auto findings = check_functions({"sim/a.cpp", function_of(71, opening, closing)});
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].problem == "a function of 71 lines, at most 70");
}

TEST_CASE("tidy rules: long classes, tables and namespaces are no functions", "[tidy]") {
    const auto opening =
        GENERATE(as<std::string>{}, "namespace a", "class A final : public B", "struct A",
                 "template <class T>\nclass A", "enum class E : int", "extern \"C\"",
                 "const int table[] =", "constexpr std::array names", "struct alignas(64) A");
    CAPTURE(opening);
    CHECK(check_functions({"sim/a.cpp", function_of(200, opening, "};\n")}).empty());
}

TEST_CASE("tidy rules: a header guards itself and leaves JSON to sources", "[tidy]") {
    CHECK(lines_found(check_headers({"sim/a.hpp", "int a;\n"})) == Lines{1});
    CHECK(check_headers({"sim/a.hpp", "// a\n#pragma once\n"}).empty());
    CHECK(check_headers({"sim/a.cpp", "int a;\n"}).empty());
    CHECK(lines_found(check_headers(
              {"sim/a.hpp", "#pragma once\n#include <nlohmann/json.hpp>\n"})) == Lines{2});
}

TEST_CASE("tidy rules: an include points to the left or up", "[tidy]") {
    const auto [from, to, allowed] = GENERATE(table<std::string, std::string, bool>({
        {"base/a.cpp", "base/b.hpp", true},          {"base/a.cpp", "policies/b.hpp", false},
        {"policies/a.cpp", "base/b.hpp", true},      {"policies/a.cpp", "traces/b.hpp", false},
        {"policies/a.cpp", "sim/b.hpp", false},      {"traces/a.cpp", "policies/b.hpp", false},
        {"records/a.cpp", "traces/b.hpp", true},     {"records/a.cpp", "sim/b.hpp", false},
        {"sim/a.cpp", "records/b.hpp", true},        {"sim/a.cpp", "kernels/b.hpp", true},
        {"scenarios/a.cpp", "runtime/b.hpp", false}, {"sim/a.cpp", "scenarios/b.hpp", false},
        {"scenarios/a.cpp", "sim/b.hpp", true},      {"runtime/a.cpp", "scenarios/b.hpp", true},
        {"scenarios/a.cpp", "plots/b.hpp", false},   {"plots/a.cpp", "base/b.hpp", true},
        {"plots/a.cpp", "records/b.hpp", false},     {"cli/a.cpp", "plots/b.hpp", true},
        {"bench/a.cpp", "cli/b.hpp", false},         {"sim/a.cpp", "cli/b.hpp", false},
        {"tests/cli/a.cpp", "cli/b.hpp", true},      {"sim/a.cpp", "b.hpp", false},
        {"sim/a.cpp", "../base/b.hpp", false},
    }));
    CAPTURE(from, to);
    const SourceFile file{from, fmt::format("// a\n#include \"{}\"\n", to)};
    CHECK(lines_found(check_includes(file)) == (allowed ? Lines{} : Lines{2}));
}

TEST_CASE("tidy rules: one folder sees SQLite", "[tidy]") {
    const std::string text = "// a\n#include <sqlite3.h>\n";
    CHECK(check_includes({"analysis/database/a.cpp", text}).empty());
    CHECK(lines_found(check_includes({"analysis/a.cpp", text})) == Lines{2});
    CHECK(lines_found(check_includes({"tests/cli/a.cpp", text})) == Lines{2});
}

TEST_CASE("tidy rules: words that are not used here", "[tidy]") {
    const auto [line, path, allowed] = GENERATE(table<std::string, std::string, bool>({
        {"int a = rand();", "cli/a.cpp", false},
        {"int a = std::rand();", "cli/a.cpp", false},
        {"int a = strand();", "cli/a.cpp", true},
        {"// rand() is bad", "cli/a.cpp", true},
        {"print(\"assert(x)\");", "cli/a.cpp", true},
        {"assert(a);", "cli/a.cpp", false},
        {"static_assert(a);", "cli/a.cpp", true},
        {"std::random_device d;", "tests/a.cpp", false},
        {"std::normal_distribution<> d;", "sim/a.cpp", false},
        {"std::normal_distribution<> d;", "tests/a.cpp", true},
        {"boost::math::students_t_distribution<> d;", "base/a.cpp", true},
        {"std::chrono::system_clock::now();", "sim/a.cpp", false},
        {"std::chrono::system_clock::now();", "policies/a.cpp", false},
        {"std::chrono::system_clock::now();", "cli/a.cpp", true},
        {"std::unordered_map<int, int> a;", "sim/a.hpp", false},
        {"std::unordered_map<int, int> a;  // order-free: only looked up", "sim/a.hpp", true},
    }));
    CAPTURE(line, path);
    CHECK(lines_found(check_words({path, "\n" + line + "\n"})) == (allowed ? Lines{} : Lines{2}));
}

TEST_CASE("tidy rules: a test's name has no semicolon", "[tidy]") {
    const std::string bad = "TEST_CASE(\"a: b; c\", \"[d]\") {\n";
    const std::string good = "TEST_CASE(\"a: b\", \"[d]\") { f(); }\n";
    CHECK(lines_found(check_test_names({"tests/sim/a.cpp", bad})) == Lines{1});
    CHECK(check_test_names({"tests/sim/a.cpp", good}).empty());
}

TEST_CASE("tidy rules: a document has one title", "[tidy]") {
    CHECK(check_titles({"a.md", "# A\n\n## B\n```\n# a comment\n```\n"}).empty());
    CHECK(lines_found(check_titles({"a.md", "# A\n# B\n"})) == Lines{2});
    CHECK(lines_found(check_titles({"a.md", "text\n"})) == Lines{1});
}

TEST_CASE("tidy rules: no folder of one machine", "[tidy]") {
    const std::string slash = "/";
    CHECK(lines_found(check_paths({"dev", "cd " + slash + "work/a\n"})) == Lines{1});
    CHECK(lines_found(check_paths({"a.md", "\n`" + slash + "home/me`\n"})) == Lines{2});
    CHECK(check_paths({"a.md", "https://example.org/work/ and a/home/b\n"}).empty());
}

TEST_CASE("tidy rules: prose says who, what and how much", "[tidy]") {
    // In two pieces: this file is checked, too.
    const auto [begin, end] = GENERATE(table<std::string, std::string>(
        {{"who", "ever"}, {"Like", "wise"}, {"as every", "where"}, {"thousand ", "million"}}));
    const std::string text = "\n// of " + begin + end + ": a\n";
    CAPTURE(text);
    CHECK(lines_found(check_prose({"a.hpp", text})) == Lines{2});
    CHECK(lines_found(check_prose({"a.md", text})) == Lines{2});
    CHECK(check_prose({"tests/data/README.md", text}).empty());
    CHECK(check_prose({"a.md", "everywhere, whose, a billion, a thousand, a million\n"}).empty());
}

TEST_CASE("tidy rules: a scenario that nothing uses is found", "[tidy]") {
    const std::vector<SourceFile> files = {{"scenarios/used.json", "{}"},
                                           {"scenarios/smoke/dead.json", "{}"},
                                           {"sim/a.cpp", "dead.json"},
                                           {"tests/cli/a.cpp", "\"scenarios/used.json\""}};
    const auto findings = check_scenarios(files);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].path == "scenarios/smoke/dead.json");
}

TEST_CASE("tidy rules: a policy that is not in the table is found", "[tidy]") {
    const std::string made = "std::unique_ptr<Policy> make_";
    const std::vector<SourceFile> files = {
        {"policies/a.cpp", "\n" + made + "a(ConfigReader& parameters) {\n"},
        {"policies/b.cpp", "\n" + made + "b(ConfigReader&) {\n"},
        {"policies/c.cpp", made + "c(ConfigReader& parameters, int more) {\n"},
        {"policies/policy_table.def", "POLICY(a, \"\", \"does\")\n// POLICY(b, \"\")\n"}};
    const auto findings = check_policies(files);
    REQUIRE(findings.size() == 1);
    CHECK(to_string(findings[0]) == "policies/b.cpp:2: b has no line in policies/policy_table.def");
}

TEST_CASE("tidy rules: two types of one name are found", "[tidy]") {
    const std::string open = "namespace ukemi {\n";
    const std::string local = open + "namespace {\n";
    const std::vector<SourceFile> files = {
        {"kernels/a.hpp", open + "struct Move {\n  struct Part {};\n};\nclass Later;\n}\n"},
        {"sim/b.hpp", open + "// struct Later {\nclass Move final : public A<int> {\n};\n}\n"},
        {"sim/c.cpp", local + "struct Move {};\n}\nstruct Move::Part2 {};\n}\n"},
        {"sim/d.cpp", "namespace ukemi::live {\nstruct Move {};\n}\n"},
        {"sim/e.cpp", open + "void f() {\n  struct Part {};\n}\nenum class Later {};\n}\n"},
        {"sim/g.cpp", local + "struct Line {\n  struct Move {};\n};\n}\n}\n"},
        {"sim/h.cpp", local + "struct Line {};\n}\n}\n"},
        {"tests/f.cpp", open + "struct Move {};\n}\n"}};
    std::vector<std::string> found;
    for (const Finding& one : check_types(files)) found.push_back(to_string(one));
    const std::string problem = ": Move is also in kernels/a.hpp: one name, one type";
    CHECK(found == std::vector<std::string>{"sim/b.hpp:3" + problem, "sim/d.cpp:2" + problem,
                                            "sim/c.cpp:3" + problem});
}

TEST_CASE("tidy rules: a folder's names are in its own namespace", "[tidy]") {
    const std::vector<SourceFile> files = {
        {"base/a.hpp", "namespace ukemi {\nstruct A {};\n}\n"},
        {"sim/b/b.hpp",
         "namespace ukemi::traces {\nclass T;\n}\nnamespace ukemi::sim {\nT f() {}\n}\n"},
        {"sim/c/c.hpp", "namespace ukemi::sim::c {\nstruct C {};\n}\n"},
        {"sim/d.cpp", "// namespace ukemi { {\nnamespace ukemi {\nint f() { return 1; }\n}\n"},
        {"sim/e.cpp", "namespace ukemi::simple {\nnamespace {\n}\n}\n"},
        {"tests/sim/f.cpp", "namespace ukemi {\nstruct F {};\n}\n"}};
    const auto findings = check_namespaces(files);
    REQUIRE(findings.size() == 2);
    CHECK(to_string(findings[0]) ==
          "sim/d.cpp:2: defines names in ukemi; this folder's namespace is ukemi::sim");
    CHECK(findings[1].path == "sim/e.cpp");
}

TEST_CASE("tidy rules: what only tests call is found", "[tidy]") {
    const std::vector<SourceFile> files = {
        {"sim/a.hpp", "int used(int x);\nint lonely();\nvoid draw_a(int);\nint known_shares();\n"},
        {"sim/a.cpp", "int used(int x) { return x; }\nint lonely() {\n    return used(1);\n}\n"},
        {"plots/figures.def", "FIGURE(a)\n"},
        {"sim/b.hpp",
         "class B {\npublic:\n    B(int x);\n    int asked() const { return 1; }\n"
         "    void called();\n    struct C {\n        std::vector<int>& told(int x);\n    };\n"
         "};\ninline void f(B& b) {\n    return b.called();\n}\n"},
        {"sim/b.cpp", "std::vector<int>& B::C::told(int x) {\n}\nint g() {\n    f();\n}\n"},
        {"tests/a_test.cpp", "int x = lonely() + b.asked() + b.c.told(1)[0];\n"},
        {"studies/a.cpp", "int y = lonely();\n"}};
    std::vector<std::string> found;
    for (const Finding& one : check_use(files)) found.push_back(to_string(one));
    CHECK(found == std::vector<std::string>{"sim/b.hpp:1: nothing but tests calls asked",
                                            "sim/a.hpp:1: nothing but tests calls lonely",
                                            "sim/b.hpp:1: nothing but tests calls told"});
}

TEST_CASE("tidy files: without git, all but build output", "[tidy]") {
    namespace fs = std::filesystem;
    const ScratchFolder folder;
    for (const char* path : {"sim/a.cpp", "build/dev/b.cpp", "build-x/c.cpp", "results/d.csv"}) {
        fs::create_directories((folder / path).parent_path());
        std::ofstream(folder / path) << path;
    }
    const auto files = project_files(folder.path().string());
    REQUIRE(files.size() == 1);
    CHECK(files[0].path == "sim/a.cpp");
    CHECK(files[0].text == "sim/a.cpp");
}

}  // namespace ukemi::tidy
