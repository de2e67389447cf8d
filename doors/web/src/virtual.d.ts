declare module "virtual:licences" {
  const text: string;
  export default text;
}
