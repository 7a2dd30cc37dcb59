// Turns the C++ blocks of Markdown pages into a test program:  extract OUTPUT.cpp ROOT PAGE.md...
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Lines = std::vector<std::string>;

struct Block {
  int line = 0;  // of its first line in the page
  std::string language;
  Lines lines;
  bool follows = false;  // right behind another block
};

// What is shown and not compiled here.
constexpr std::array kShown = {"", "sh", "cmake", "python", "text", "dot"};

std::vector<Block> blocks_of(const std::string& page) {
  std::ifstream file(page);
  if (!file) throw std::runtime_error(page + ": cannot be read");
  std::vector<Block> blocks;
  bool inside = false, behind = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (inside) {
        blocks.push_back({number + 1, line.substr(3), {}, behind});
        const std::string& language = blocks.back().language;
        if (language != "cpp" && std::find(kShown.begin(), kShown.end(), language) == kShown.end())
          throw std::runtime_error(page + ":" + std::to_string(number) + ": a block in \"" + language +
                                   "\", which is neither compiled nor on the list of what need not be");
      }
      behind = !inside;
    } else if (inside) {
      blocks.back().lines.push_back(line);
    } else if (!line.empty()) {
      behind = false;
    }
  }
  if (inside) throw std::runtime_error(page + ": a block that does not end");
  return blocks;
}

// Where a page points into the project, something is there.
void check_links(const std::string& root, const std::string& page) {
  static const std::regex link("\\]\\(([^)#]+)[^)]*\\)"), code("`[^`]*`"), outside("[a-z]+:.*");
  std::ifstream file(root + page);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0) inside = !inside;
    if (inside) continue;
    line = std::regex_replace(line, code, "");
    for (std::sregex_iterator found(line.begin(), line.end(), link), end; found != end; ++found) {
      const std::string target = (*found)[1];
      if (std::regex_match(target, outside)) continue;
      if (!std::filesystem::exists((std::filesystem::path(root + page).parent_path() / target)))
        throw std::runtime_error(page + " points to " + target + ", which is not there");
    }
  }
}

// A line that begins a definition, which stands outside functions.
bool begins_definition(const std::string& line) {
  static const std::regex keyword(
      "(struct|class|enum|namespace|template|using|inline|constexpr [A-Za-z]+ [a-z_]+\\(|TEST).*");
  static const std::regex function("[A-Za-z_][A-Za-z_0-9:<>,& ]* [&*]?[A-Za-z_0-9]+\\(.*\\)( const)? \\{.*");
  static const std::regex statement("(if|for|while|switch|else|return|do|try|catch|const auto|auto) ?.*");
  return std::regex_match(line, keyword) || (std::regex_match(line, function) && !std::regex_match(line, statement));
}

int depth_of(const std::string& line) {
  return static_cast<int>(std::count(line.begin(), line.end(), '{') - std::count(line.begin(), line.end(), '}'));
}

struct Code {
  Lines includes, definitions, statements;
};

Code sort_out(const Block& block, const std::string& page) {
  Code code;
  const auto at = [&](std::size_t i) {
    return "#line " + std::to_string(block.line + static_cast<int>(i)) + " \"" + page + "\"";
  };
  int depth = 0;
  bool defining = false;
  for (std::size_t i = 0; i < block.lines.size(); ++i) {
    const std::string& line = block.lines[i];
    if (depth == 0 && line.rfind("#include", 0) == 0) {
      code.includes.push_back(line);
      continue;
    }
    const bool outside = depth == 0 && (line.empty() || line[0] != ' ');
    if (outside && line.rfind("}", 0) != 0) {
      const bool before = defining;
      defining = begins_definition(line);
      if (before != defining || i == 0) (defining ? code.definitions : code.statements).push_back(at(i));
    }
    (defining ? code.definitions : code.statements).push_back(line);
    depth += depth_of(line);
  }
  return code;
}

bool is_blank(const Lines& lines) {
  return std::all_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.empty() || line.rfind("#line", 0) == 0 || line.rfind("//", 0) == 0;
  });
}

std::string name_of(std::string page) {
  for (char& c : page)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return page;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) throw std::runtime_error("usage: extract OUTPUT.cpp ROOT PAGE.md...");
  const std::string root = std::string(argv[2]) + "/";
  std::ostringstream includes, pages;
  for (int i = 3; i < argc; ++i) {
    const std::string page = argv[i];
    check_links(root, page);
    const std::vector<Block> blocks = blocks_of(root + page);
    pages << "\nnamespace " << name_of(page) << " {\n";
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].language != "cpp") continue;
      const Code code = sort_out(blocks[b], root + page);
      for (const std::string& line : code.includes) includes << line << "\n";
      for (const std::string& line : code.definitions) pages << line << "\n";
      if (is_blank(code.statements)) continue;
      const bool prints = b + 1 < blocks.size() && blocks[b + 1].follows && blocks[b + 1].language == "text";
      pages << "TEST(Snippets, " << name_of(page) << "_line_" << blocks[b].line << ") {\n"
            << "  snippets::Printed printed;\n";
      for (const std::string& line : code.statements) pages << line << "\n";
      if (prints) {
        pages << "  EXPECT_EQ(printed.text(), R\"text(";
        for (const std::string& line : blocks[b + 1].lines) pages << line << "\n";
        pages << ")text\");\n";
      }
      pages << "}\n";
    }
    pages << "}  // namespace " << name_of(page) << "\n";
  }
  std::ofstream out(argv[1]);
  out << "// Written by tests/snippets/extract.cpp; do not edit.\n#include \"printed.h\"\n"
      << includes.str() << pages.str();
  return out.flush() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "extract: " << error.what() << "\n";
  return 1;
}
